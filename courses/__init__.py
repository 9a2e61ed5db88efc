"""Assignments of the book: from one source the student's notebook, the key, and marks."""
