"""Side-by-side measurements of `sgdrace` and what a user would write or pick instead."""
