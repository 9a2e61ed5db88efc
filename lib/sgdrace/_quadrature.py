"""Integrals of functions that are smooth between known edges, by Gauss-Legendre on panels.

Knows arithmetic only; who integrates says where the edges are and how many digits it needs.
"""

from collections.abc import Callable, Iterator

import numpy as np

from sgdrace._arguments import FloatArray

CHUNK = 1 << 21  # points in one array, so that many panels stay within memory
MOST_PANELS = 1 << 17  # still open at once; a function that needs more is noise
HALVINGS = 50  # of one panel, after which a jump inside it no longer matters
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)  # of the interval from -1 to 1


class QuadratureError(ValueError):
    """The quadrature has not reached its accuracy."""


def integrate(
    f: Callable[[FloatArray], FloatArray],
    edges: FloatArray,
    tolerance: float = 1e-11,
    chunk: int = CHUNK,
    most_panels: int = MOST_PANELS,
) -> FloatArray:
    """∫ f from the first edge to the last, for f: (points,) -> (functions, points), smooth between edges.

    Each panel is halved until both halves together say the same as the whole, to `tolerance` of ∫|f|.

    >>> integrate(lambda x: np.stack([x, x**2]), np.array([0.0, 1.0])).round(12).tolist()
    [0.5, 0.333333333333]
    """

    def panels(a: FloatArray, b: FloatArray) -> FloatArray:
        x = points(a, b).T.ravel()  # (nodes * panels,)
        values = np.concatenate([f(part) for part in _chunks(x, chunk)], axis=1)
        panel = np.einsum("n,fnp->fp", WEIGHTS, values.reshape(len(values), NODES.size, a.size))
        return np.asarray((b - a) / 2 * panel)

    a, b = edges[:-1], edges[1:]
    whole = panels(a, b)  # (functions, panels)
    done, size = np.zeros((2, len(whole), 1))  # what is settled, and the sum of its absolute values
    for _ in range(HALVINGS):
        middle = (a + b) / 2
        left, right = panels(a, middle), panels(middle, b)
        both = left + right
        scale = size + np.abs(whole).sum(axis=1, keepdims=True)
        good = (np.abs(both - whole) <= tolerance * scale).all(axis=0)
        done += both[:, good].sum(axis=1, keepdims=True)
        size += np.abs(both[:, good]).sum(axis=1, keepdims=True)
        if good.all():
            return np.asarray(done[:, 0])
        if np.count_nonzero(~good) > most_panels:
            break
        a, b = np.append(a[~good], middle[~good]), np.append(middle[~good], b[~good])
        whole = np.append(left[:, ~good], right[:, ~good], axis=1)
    raise QuadratureError("panels do not agree")


def points(a: FloatArray, b: FloatArray) -> FloatArray:
    """The points of panels from a to b at which a function is needed: (panels, nodes)."""
    return a[:, None] + (b - a)[:, None] * ((NODES + 1) / 2)


def panel_integrals(values: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """∫ over each panel of a function given at its `points`: (panels,)."""
    return np.asarray((b - a) / 2 * (values @ WEIGHTS))


def integrals_up_to(values: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """∫ from the first edge of adjacent panels up to each of their `points`: (panels, nodes).

    >>> a, b = np.array([0.0, 1.0]), np.array([1.0, 3.0])
    >>> bool(np.allclose(integrals_up_to(2 * points(a, b), a, b), points(a, b) ** 2))
    True
    """
    before = np.append(0.0, np.cumsum(panel_integrals(values, a, b))[:-1])
    return np.asarray(before[:, None] + ((b - a) / 2)[:, None] * (values @ _UP_TO.T))


def _up_to_nodes() -> FloatArray:
    """Row i: the weights that integrate a polynomial given at the nodes from -1 to node i."""
    legendre = np.polynomial.legendre
    coefficients = np.linalg.inv(legendre.legvander(NODES, NODES.size - 1))  # values -> coefficients
    integrals = legendre.legint(coefficients, lbnd=-1, axis=0)
    return np.asarray(legendre.legvander(NODES, NODES.size) @ integrals)


_UP_TO = _up_to_nodes()


def _chunks(x: FloatArray, size: int) -> Iterator[FloatArray]:
    for start in range(0, max(1, x.size), max(1, size)):  # once, if there is nothing
        yield x[start : start + max(1, size)]
