"""Examples to learn from: tables that are given, random ones, and the handwritten digits."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdrace._arguments import FloatArray, count, floats, reals, seed_sequence
from sgdrace._extras import extra
from sgdrace._memory import must_fit


def features_of(X: ArrayLike) -> FloatArray:
    """A copy of the data, (n, p).

    >>> features_of([[1, 2], [3, 4], [5, 6]]).shape
    (3, 2)
    """
    features = np.array(floats("X", X, "a table of numbers, one row for each example", truth=True), order="C")
    if features.ndim != 2 or features.size == 0:
        raise ValueError(
            f"X must have a row for each example and a column for each feature; got shape {features.shape}."
        )
    if not np.isfinite(features).all():
        raise ValueError("X must hold finite numbers only.")
    if not features.any():
        raise ValueError("X must hold at least one number other than 0.")
    return features


def targets_of(y: ArrayLike) -> FloatArray:
    """A copy of the targets, (n,); True and False are 1 and 0.

    >>> targets_of(np.array([True, False]))
    array([1., 0.])
    """
    return reals("y", y, truth=True).copy()


def classes_of(y: ArrayLike) -> NDArray[np.intp]:
    """The targets as classes, (n,), if these are numbered without gaps.

    >>> classes_of([2.0, 0.0, 1.0])
    array([2, 0, 1])
    """
    labels = targets_of(y)
    if not ((labels >= 0) & (labels == np.floor(labels))).all():
        raise ValueError("y must hold classes numbered 0, 1, 2 and so on.")
    classes = labels.astype(np.intp)
    missing = np.flatnonzero(np.bincount(classes, minlength=2) == 0)
    if missing.size:
        raise ValueError(f"y must hold classes 0, 1, ... without gaps; got no row of class {missing[0]}.")
    return classes


def synthetic(rows: int, dimension: int, seed: int) -> tuple[FloatArray, FloatArray, np.random.Generator]:
    """Features (rows, d), their product with random weights of norm about 1, the generator to go on with.

    >>> X, z, rng = synthetic(rows=5, dimension=2, seed=0)
    >>> X.shape, z.shape
    ((5, 2), (5,))
    """
    rows, dimension = count("rows", rows, minimum=2), count("dimension", dimension)
    must_fit(f"{rows} rows of {dimension} features", 8 * rows * dimension)
    # The partition into blocks is drawn from the seed itself.
    rng = np.random.default_rng(seed_sequence(seed).spawn(1)[0])
    X = rng.standard_normal((rows, dimension))
    return X, X @ rng.standard_normal(dimension) / np.sqrt(dimension), rng


def digits() -> tuple[FloatArray, NDArray[np.intp]]:
    """Scikit-learn's 1797 handwritten digits of 8×8 pixels, scaled to 0..1, and which digits they are.

    >>> X, y = digits()
    >>> X.shape, X.max(), y.max()
    ((1797, 64), np.float64(1.0), np.int64(9))
    """
    with extra("digits", what="the problem of the digits"):
        from sklearn.datasets import load_digits
    X, y = load_digits(return_X_y=True)
    return X / 16, y
