"""Facts about files of measured times: what is read is what was measured, or the file is refused."""

import tracemalloc

import numpy as np
import pytest

from sgdrace import Empirical
from sgdrace.delays.trace_files import read_times


def write(folder, text):
    path = folder / "steps.csv"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "column", "times"),
    [
        (",0\n0,1.5\n1,2.5\n", "0", [1.5, 2.5]),  # a Series of pandas with its index
        ("0\n1.5\n2.5\n", "0", [1.5, 2.5]),  # and without
        (",ms\n0,1.5\n1,2.5\n", "ms", [1.5, 2.5]),
        ('"","x"\n"1",1.5\n"2",2.5\n', "x", [1.5, 2.5]),  # R's write.csv
        ("3\n12\n15\n", None, [3, 12, 15]),
        ("3\n\n", None, [3]),
        ("3.0\n1.5\n", None, [3, 1.5]),
        ("0.0\n1.5\n", None, [0, 1.5]),
        ("ms,\n1,\n2,\n", "ms", [1, 2]),  # a comma at the end of every line
        ("ms,note\n1,\n,\n2,late\n", "ms", [1, 2]),  # a line of nothing but commas is empty, too
        (' step time , "note, if any"\n"1.5",x\n+2e-3 ,y\n', "step time", [1.5, 2e-3]),
        ("99th percentile,1\n3,4\n", "1", [4]),
        ("ms\r1\r2\r", None, [1, 2]),
    ],
)
def test_what_was_measured_is_read(tmp_path, text, column, times):
    assert read_times(write(tmp_path, text), column).tolist() == times


@pytest.mark.parametrize(
    ("text", "column", "sentence"),
    [
        ("1,5\n2,5\n", 0, "line 1 of .* must name its 2 columns; it holds '1,5'.* decimals with a point"),
        ("ms\n1,5\n2,5\n", "ms", "line 2 of .* as many cells as the first line, 1; it has 2"),
        ("learner,ms\n0,1,5\n", "ms", "line 2 of .* as many cells as the first line, 2; it has 3"),
        ("learner,ms\n0,1\n1\n", "learner", "line 3 of .* as many cells as the first line, 2; it has 1"),
        ("learner;ms\n0;1,5\n", "ms", "line 1 of .* must have commas between its cells; it has ';'"),
        ("learner\tms\n0\t1.5\n", 0, r"must have commas between its cells; it has '\\t'"),
        (",0\n0,1.5\n", 1, "line 1 of .* must name its 2 columns; it holds ',0': .* give as column the cell"),
        ("warm-up,9.5\nepoch,1.5\n", 1, "line 1 of .* must name its 2 columns; it holds 'warm-up,9.5'"),
        ("ms,ms\n1,2\n", "ms", "has several columns 'ms'; give the number of one"),
        ("ms,note\n,late\n", "ms", "line 2 of .* must hold a time; it holds ''"),
        ('ms,note\n1,"a\n2,b"\n', "ms", "line 2 of .* a quote is not closed"),
        ('ms,note\n1,a\n2,"b\n' + "3,c\n" * 50_000, "ms", "line 3 of .* a quote is not closed"),
        ('ms\n"1.5" s\n', "ms", "line 2 of .* a quote is not closed at the end of its cell"),
    ],
)
def test_a_file_that_could_be_misread_is_refused_with_its_line(tmp_path, text, column, sentence):
    with pytest.raises(ValueError, match=sentence) as refusal:
        read_times(write(tmp_path, text), column)
    assert str(refusal.value).endswith(".") and "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "cell", ["1,000", "1 000", "1_000", "1.5 s", "1.5ms", "١٢", "0x10", "1\x00", "−1", "#1"]
)
@pytest.mark.parametrize("above", ["", "ms\n", "2.5\n"])
def test_a_number_that_is_not_plain_is_neither_a_time_nor_a_name(tmp_path, cell, above):
    with pytest.raises(ValueError, match=f"line {1 + bool(above)} of .* must hold a time; it holds"):
        read_times(write(tmp_path, f'{above}"{cell}"\n2.5\n'))


@pytest.mark.parametrize(
    ("text", "name"), [("0\n12\n15\n", "0"), ("0\n1.5\n", "0"), ("3\n\n1.5\n2.5\n", "3")]
)
def test_a_number_that_may_be_a_name_is_refused_until_somebody_says_which(tmp_path, text, name):
    path = write(tmp_path, text)
    with pytest.raises(
        ValueError, match=rf"line 1 .* write {name}\.0 if it is a time, or give column='{name}'"
    ):
        read_times(path)
    assert float(name) not in read_times(path, name)
    assert float(name) in read_times(write(tmp_path, text.replace(name, f"{name}.0", 1)))


@pytest.mark.parametrize("path", [0, None, b"steps.csv", ["steps.csv"]])
def test_only_the_name_of_a_file_is_opened(path):
    with pytest.raises(TypeError, match="path must be the name of a file; got"):
        Empirical.from_csv(path)


def test_reading_takes_little_more_memory_than_the_times(tmp_path):
    path = write(tmp_path, "learner,ms\n" + "".join(f"{n % 8},{n / 7}\n" for n in range(50_000)))
    tracemalloc.start()
    law = Empirical.from_csv(path, "ms")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.array_equal(law.times, np.arange(50_000) / 7)
    assert peak < 4 * law.times.nbytes  # all rows as lists of text would take fifty times as much
