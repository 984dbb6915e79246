"""The compiled module. Everything else about the package is in pyproject.toml.

Without a C compiler it is left out, and plain code takes its place.
"""

import os
import sysconfig

from setuptools import Extension, setup

MODULES = ["laconic.relaxations.row_kernels"]
# One wheel serves Python 3.11 and all later versions. The builds of Python without the lock (GIL) need their own.
STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")

setup(
    ext_modules=[
        Extension(
            name,
            [f"src/{name.replace('.', '/')}.pyx"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE else [],
            py_limited_api=STABLE,
            # Products and sums are not fused, so that all machines round alike. Other compilers ignore these options.
            extra_compile_args=["-ffp-contract=off", "-g0"],
            optional="CIBUILDWHEEL" not in os.environ,  # a wheel that is published has it
        )
        for name in MODULES
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
