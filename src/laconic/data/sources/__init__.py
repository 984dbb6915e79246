"""Data that are read in blocks: files larger than memory, memory maps, clusters.

Which file does what:

    the contract
        contract            Source: rows in blocks; Job: the work of a pass; how a pass goes from block to block
        progress            the clock, Ctrl-C and the checkpoints of a pass
        registry            which format opens which file or object: open_source

    formats of tables
        text                .csv, .tsv, .txt
        arrow               .parquet, .arrow, .feather
        long                text or Parquet with three columns: row, column, value
        numpy_files         .npy, and .npz with one array
        sparse_npz          .npz with a sparse matrix of SciPy
        matrix_market       .mtx
        docword             bags of words of the UCI repository
        annotated           AnnData: .h5ad, .zarr, objects; annotated_layout: where such a file keeps what

    data that are no files
        memory              arrays and sparse matrices in memory, memory maps
        iterable            objects that yield blocks of rows
        dask                Dask arrays and dataframes; a pass runs on the workers of a cluster

    parts that formats share
        stored              dense and CSR matrices in arrays on disk, read by slices
        by_column           CSC matrices on disk, and entries in the order of columns
        triples             entries (row, column, value) in the order of rows
        entry_lines         such entries in the lines of a text file
        npz                 one array of an .npz file, read in parts
        streams             text in pieces of whole lines; clear words about files that cannot be read
        quick_text          lines of numbers, parsed by pyarrow
        read_ahead          the next block is read while the last one is worked on

    sources made of others
        joined              several files, one below the other
        selected            some of the columns
        arranged            columns in another order
"""

from laconic.data.sources.contract import Block, Job, Source
from laconic.data.sources.progress import PassProgress
from laconic.data.sources.registry import open_source

__all__ = ["Block", "Job", "PassProgress", "Source", "open_source"]
