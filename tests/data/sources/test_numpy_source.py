"""NumPy arrays and SciPy's sparse matrices on disk, stored or compressed."""

import numpy as np
import pytest
import scipy.sparse as sp
from tests.data.sources.checks import check_source, message, together

from laconic.data.passes import FirstPass
from laconic.data.sources.by_column import CscSource, EntriesByColumn
from laconic.data.sources.npz import NpzArray
from laconic.data.sources.progress import PassProgress
from laconic.data.sources.registry import open_source
from laconic.data.sources.selected import SelectedSource
from laconic.data.sources.sparse_npz import CooNpz, open_sparse
from laconic.data.sources.stored import CsrSource, DenseSource, StoredMatrix


def matrix(n=120, p=16):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.4, (n, p)) * 1.0
    X[:3] = X[40:60] = X[-2:] = 0
    X[:, 5] = X[:, -1] = 0
    return X


X = matrix()


@pytest.mark.parametrize("convert", [np.asarray, np.asfortranarray, np.float32, np.int16, lambda X: X > 0])
def test_npy(tmp_path, convert, monkeypatch):
    monkeypatch.setattr("laconic.data.sources.memory.BLOCK_NUMBERS", 200)
    np.save(tmp_path / "t.npy", convert(X))
    source = open_source(tmp_path / "t.npy")
    assert source.name == "t.npy"
    assert source.fingerprint() is not None
    check_source(source, convert(X), min_blocks=9)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_dense_npz(tmp_path, save):
    path = tmp_path / "t.npz"
    save(path, X=X, note=np.arange(4), version=3)
    check_source(open_source(path), X)
    check_source(DenseSource(StoredMatrix("t.npz", [path], X.shape, NpzArray(path, "X").opened), 100), X, min_blocks=10)
    save(path, X=X, Y=X)
    with pytest.raises(ValueError, match=r"^t\.npz has 2 arrays with rows and columns; store one") as error:
        open_source(path)
    message(error)
    save(path, X=np.asfortranarray(X))
    with pytest.raises(ValueError, match=r"Fortran order; store np\.ascontiguousarray") as error:
        open_source(path)
    message(error)


FORMS = {
    "csr": (sp.csr_array, CsrSource),
    "csr matrix": (sp.csr_matrix, CsrSource),
    "bsr": (lambda X: sp.bsr_array(X, blocksize=(4, 2)), CsrSource),
    "csc": (sp.csc_array, CscSource),
    "coo": (lambda X: sp.coo_array(sp.csr_array(X)), CooNpz),
    "coo by column": (lambda X: sp.coo_array(sp.csc_array(X)), EntriesByColumn),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
def test_sparse_npz(tmp_path, form, compressed, dtype):
    path = tmp_path / "t.npz"
    convert, kind = FORMS[form]
    sp.save_npz(path, convert(X.astype(dtype)), compressed=compressed)
    source = open_source(path)
    assert isinstance(source, kind)
    assert source.fingerprint() is not None
    check_source(source, X)
    check_source(open_sparse(path, 50), X, min_blocks=8)


@pytest.mark.parametrize("form", ["csc", "coo by column"])
@pytest.mark.parametrize("values", ["counts", "real", "mixed"])
def test_columns_in_several_readings(tmp_path, form, values):
    """A small budget: the columns are read again for each range of rows, and blocks stay the same."""
    path = tmp_path / "t.npz"
    Y = X.copy()
    if values != "counts":
        Y[:, 7 if values == "mixed" else 0 :] *= np.pi
    sp.save_npz(path, FORMS[form][0](Y))
    whole = open_sparse(path, 20)
    source = open_sparse(path, 20, 70)
    check_source(source, Y, min_blocks=20)
    sizes = [block.rows.shape[0] for block in source.blocks()]
    assert sizes == [block.rows.shape[0] for block in whole.blocks()]


@pytest.mark.parametrize("form", FORMS)
def test_some_columns_are_a_source_of_their_own(tmp_path, form, monkeypatch):
    sp.save_npz(tmp_path / "t.npz", FORMS[form][0](X))
    chosen = np.array([0, 1, 5, 6, 7, 12, 15])
    whole = open_sparse(tmp_path / "t.npz", 20, 70)
    source = SelectedSource(whole, chosen)
    check_source(source, X[:, chosen], min_blocks=8)
    if FORMS[form][1] in (CscSource, EntriesByColumn):
        monkeypatch.setattr(whole, "blocks", None)  # the first pass never asks for rows
        source.reduce(FirstPass(), PassProgress())


def test_entries_twice_and_out_of_order(tmp_path):
    """As some programs write them: the rows of a column in any order, and repeated."""
    path = tmp_path / "t.npz"
    for form in (sp.csr_array, sp.csc_array):
        Y = form(np.zeros((4, 4)))
        Y.indices, Y.data = np.array([3, 0, 3, 1], dtype=np.int32), np.array([1.0, 2.0, 4.0, 8.0])
        Y.indptr = np.array([0, 3, 3, 4, 4], dtype=np.int32)
        sp.save_npz(path, Y)
        check_source(open_source(path), Y.toarray())


def test_several_files_are_one_table(tmp_path):
    for i in range(3):
        np.save(tmp_path / f"{i}.npy", X[40 * i : 40 * i + 40])
        sp.save_npz(tmp_path / f"{i}.npz", sp.csr_array(X[40 * i : 40 * i + 40]))
        sp.save_npz(tmp_path / f"column-{i}.npz", sp.csc_array(X[40 * i : 40 * i + 40]))
        sp.save_npz(tmp_path / f"entries-{i}.npz", sp.coo_array(X[40 * i : 40 * i + 40]))
    for pattern in ("[0-2].npy", "[0-2].npz", "column-*.npz", "entries-*.npz"):
        source = open_source(tmp_path / pattern)
        assert source.fingerprint() is not None
        check_source(source, X, min_blocks=3)
    np.save(tmp_path / "2.npy", X[:, :5])
    with pytest.raises(ValueError, match=r"^2\.npy has 5 dense columns, and 0\.npy has 16 dense columns") as error:
        open_source(tmp_path / "[0-2].npy")
    message(error)


def edited(path, **changes):
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays.update(changes)
    np.savez(path, **arrays)


def test_wrong_indices(tmp_path):
    path = tmp_path / "t.npz"
    for form in (sp.csr_array, sp.csc_array, lambda X: sp.coo_array(sp.csr_array(X))):
        Y = form(X)
        sp.save_npz(path, Y)
        name = "col" if Y.format == "coo" else "indices"
        with np.load(path) as archive:
            indices = archive[name]
        indices[100] = 500
        edited(path, **{name: indices})
        with pytest.raises(ValueError, match=r"^t\.npz has .*500.*, and (16|120) (columns|rows); ") as error:
            together(open_source(path))
        message(error)
    sp.save_npz(path, sp.csr_array(X))
    edited(path, indptr=np.arange(7))
    with pytest.raises(ValueError, match=r"^t\.npz has an index pointer that does not fit its shape"):
        open_source(path)
    sp.save_npz(path, sp.dia_array(np.eye(4)))
    with pytest.raises(ValueError, match=r"sparse matrix of the form 'dia'; store X\.tocsr\(\) instead"):
        open_source(path)
    order = np.random.default_rng(0).permutation(np.count_nonzero(X))
    Y = sp.coo_array(X)
    sp.save_npz(path, sp.coo_array((Y.data[order], (Y.row[order], Y.col[order])), shape=Y.shape))
    with pytest.raises(ValueError, match=r"^t\.npz is sorted neither by row nor by column; sort its entries") as error:
        together(open_source(path))
    message(error)


def test_an_entry_that_is_missing_is_named_by_its_column(tmp_path):
    Y = X.copy()
    Y[33, 12] = np.nan
    for form in (sp.csr_array, sp.csc_array):
        sp.save_npz(tmp_path / "t.npz", form(Y))
        with pytest.raises(ValueError, match=r"^t\.npz has NaN at row 33, column 12"):
            open_sparse(tmp_path / "t.npz", 30).reduce(FirstPass(None, "t.npz"), PassProgress())


@pytest.mark.parametrize("compressed", [False, True])
def test_damaged_files(tmp_path, compressed):
    path = tmp_path / "t.npz"
    sp.save_npz(path, sp.csr_array(X), compressed=compressed)
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(ValueError, match=r"^t\.npz is damaged or incomplete \(.*\); copy or make it again") as error:
        open_source(path)
    message(error)
    path = tmp_path / "t.npy"
    np.save(path, X)
    for content in (b"", path.read_bytes()[:-300], b"no array"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"^t\.npy is not a complete array of numbers \(.*\); make it") as error:
            open_source(path)
        message(error)


def test_arrays_that_are_no_tables(tmp_path):
    path = tmp_path / "t.npy"
    for wrong in (np.arange(5), np.zeros((2, 2, 2)), np.array([["a", "b"]])):
        np.save(path, wrong)
        with pytest.raises(ValueError, match=r"^t\.npy has an array of shape .* give numbers in rows and columns"):
            open_source(path)
    np.save(path, np.array([[None, 1]]), allow_pickle=True)
    with pytest.raises(ValueError, match=r"^t\.npy is not a complete array of numbers"):
        open_source(path)
    (tmp_path / "t.npy.gz").write_bytes(b"")
    with pytest.raises(ValueError, match="decompress it first"):
        open_source(tmp_path / "t.npy.gz")
