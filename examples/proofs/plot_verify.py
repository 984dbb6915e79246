"""
A proof, and its check
======================

A certificate is a file with the component, both bounds, and the numbers needed to recompute them. ``verify`` reads the
data and checks every step. It uses none of the code that found the component, and rejects a forged certificate.
"""

from dataclasses import replace

from laconic import SparsePCA, path, verify
from laconic.datasets import load_senate109

votes = load_senate109().frame
model = SparsePCA(cardinality=5, proof="tight").fit(votes)
certificate = model.certificates_[0]
print(f"between {certificate.lower:.6f} and {certificate.upper:.6f}")
print(verify(certificate, votes).reason)

# %%
# Somebody exchanges a bill and keeps the numbers of the proof. The check fails.

support = certificate.support.copy()
support[0] = 0
print(verify(replace(certificate, support=support), votes).reason)

# %%
# Somebody makes the proof of eight bills, where a gap is left, look better than it is. That fails, too.

loose = SparsePCA(cardinality=8).fit(votes).certificates_[0]
print(verify(loose, votes).reason)
print(verify(replace(loose, upper=(loose.lower + loose.upper) / 2), votes).reason)

# %%
# A proof is about one table. If a single vote differs, it is rejected.

changed = votes.copy()
changed.iloc[0, 0] = -1
print(verify(certificate, changed).reason)

# %%
# The variance found and the proved bound for each number of bills. A filled point is optimal; elsewhere a band is left.

picture = path(SparsePCA(), votes, sizes=25).plot()
