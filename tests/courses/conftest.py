"""Whole courses are graded first: they take longest, and other tests fill the time in which they wait."""

LONG = ("test_whole_way", "test_grading")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))
