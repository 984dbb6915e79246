"""The compiled module. Everything else about the package is in pyproject.toml.

Without a C compiler they are left out, and plain code takes their place.
"""

from setuptools import Extension, setup

MODULES = ["laconic.relaxations.row_kernels"]

setup(
    ext_modules=[
        Extension(
            name,
            [f"src/{name.replace('.', '/')}.pyx"],
            # One wheel serves Python 3.11 and all later versions.
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            # Products and sums are not fused, so that all machines round alike. Other compilers ignore these options.
            extra_compile_args=["-ffp-contract=off", "-g0"],
            optional=True,
        )
        for name in MODULES
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
