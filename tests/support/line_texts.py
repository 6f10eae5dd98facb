"""Short texts of few different lines, so that many are equal."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

TEXTS = st.lists(st.sampled_from([b"a", b"b", b"c", b"d", b""]), max_size=20)

patient = settings(suppress_health_check=[HealthCheck.too_slow])
