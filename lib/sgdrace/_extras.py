"""What to install where a part of the package needs more than NumPy, SciPy and tqdm. Knows no part itself."""

from collections.abc import Iterator
from contextlib import contextmanager

DISTRIBUTION = {"sklearn": "scikit-learn"}  # where pip knows a package by another name


@contextmanager
def extra(name: str, what: str) -> Iterator[None]:
    """Import optional packages inside; where one is missing, say which extra of the package has it.

    >>> with extra("explore", what="sgdrace.explore"):
    ...     import a_package_that_nobody_has
    Traceback (most recent call last):
    ModuleNotFoundError: sgdrace.explore needs a_package_that_nobody_has, which is not installed;
    pip install "sgdrace[explore]" adds it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        raise ModuleNotFoundError(
            f"{what} needs {DISTRIBUTION.get(package, package)}, which is not installed; "
            f'pip install "sgdrace[{name}]" adds it.',
            name=error.name,
        ) from None
