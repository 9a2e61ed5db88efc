"""Assignments from the book: made, handed out, graded."""
