"""Assignments made from the book: handed out, graded, marked."""
