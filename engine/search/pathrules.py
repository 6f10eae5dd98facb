"""What a path says of a file's worth as an answer: tests, examples, vendored code, stubs down."""

import functools
import math
import re

from engine.search.breakdown import Part, lowered

TEST_FACTOR = 0.3
EXAMPLE_FACTOR = 0.3
VENDORED_FACTOR = 0.3
GENERATED_FACTOR = 0.5
REEXPORT_FACTOR = 0.5
STUB_FACTOR = 0.7

_TEST = re.compile(
    r"(^|/)(tests?|testing|__tests__|specs?|testdata|fixtures?|mocks?|__mocks__|e2e|bench(es|marks?)?"
    r"|testutils?|test[_-]helpers?)(/|$)"
    r"|(^|/)(test_[^/]*|conftest|[^/]*[_.-](test|tests|spec|specs|bench|benchmark|mock))\.\w+$"
    r"|(^|/)\w*[a-z](Tests?|Spec|Specs|Suite|TestCase|IT)\.(java|kts?|cs|swift|scala|php|groovy)$"
)
_EXAMPLE = re.compile(r"(^|/)(_?examples?|samples?|demos?|docs?_src|playground|tutorials?)(/|$)")
_VENDORED = re.compile(
    r"(^|/)(vendor|vendored|_vendor|third[_-]?party|3rdparty|external|deps|node_modules"
    r"|compat|_compat|legacy|deprecated)(/|$)"
)
_STUB = re.compile(r"\.d\.[cm]?ts$|\.pyi$")
_REEXPORT = re.compile(r"(^|/)(__init__\.pyi?|package-info\.java)$")

_RULES = (
    (_EXAMPLE, EXAMPLE_FACTOR, "example"),
    (_VENDORED, VENDORED_FACTOR, "vendored or legacy"),
    (_STUB, STUB_FACTOR, "stub"),
    (_REEXPORT, REEXPORT_FACTOR, "re-exports"),
)


def is_test(path: str) -> bool:
    """Say whether a path looks like tests, benchmarks or their fixtures."""
    return _TEST.search(path) is not None


@functools.lru_cache(maxsize=8192)
def path_factors(
    path: str, *, is_generated: bool = False, asks_for_tests: bool = False
) -> tuple[Part, ...]:
    """Give the factors by which a path lowers its score; none for plain code.

    Args:
        path: Relative to the root.
        is_generated: The content says that a tool wrote it.
        asks_for_tests: The question is about tests, so that they are not lowered.
    """
    factors = []
    if not asks_for_tests and is_test(path):
        factors.append(lowered("test", TEST_FACTOR))
    factors += [lowered(reason, value) for pattern, value, reason in _RULES if pattern.search(path)]
    if is_generated:
        factors.append(lowered("generated", GENERATED_FACTOR))
    return tuple(factors)


def path_worth(path: str, *, is_generated: bool) -> float:
    """Give the product of the factors: 1 for plain code, less for all else."""
    return math.prod(part.value for part in path_factors(path, is_generated=is_generated))
