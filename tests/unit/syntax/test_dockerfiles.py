"""Dockerfiles: what a text defines."""

from tests.support.symbol_rows import rows_of

_DOCKERFILE = """
# syntax=docker/dockerfile:1

# The base.
ARG VERSION=1
FROM python:${VERSION} AS base
ENV HOME_DIR=/x level="a b" \\
    # of speech
    LANG='C'
ENV PATH /usr/bin:$PATH
RUN <<EOF
FROM none AS none
EOF

# Builds.
FROM --platform=$BUILDPLATFORM base as builder
ARG VERSION
ARG name
RUN echo "<<none"
COPY --from=base a b

FROM scratch
env LAST=1
"""


def test_dockerfile() -> None:
    assert rows_of(_DOCKERFILE, "dockerfile") == [
        ("constant", "VERSION", 4, 4, True, -1, "ARG VERSION=1", "The base."),
        ("target", "base", 5, 12, True, -1, "FROM python:${VERSION} AS base", ""),
        ("constant", "base.HOME_DIR", 6, 8, True, 1, "ENV HOME_DIR=/x level=\"a b\" LANG='C'", ""),
        ("variable", "base.level", 6, 8, True, 1, "ENV HOME_DIR=/x level=\"a b\" LANG='C'", ""),
        ("constant", "base.LANG", 6, 8, True, 1, "ENV HOME_DIR=/x level=\"a b\" LANG='C'", ""),
        ("constant", "base.PATH", 9, 9, True, 1, "ENV PATH /usr/bin:$PATH", ""),
        (
            "target",
            "builder",
            15,
            19,
            True,
            -1,
            "FROM --platform=$BUILDPLATFORM base as builder",
            "Builds.",
        ),
        ("variable", "builder.name", 17, 17, True, 6, "ARG name", ""),
        ("constant", "LAST", 22, 22, True, -1, "env LAST=1", ""),
    ]


_DOCKERFILE_BROKEN = """
FROM
FROM a AS
RUN <<EOF
ENV A="x
FROM b AS after
"""


def test_broken() -> None:
    assert rows_of(_DOCKERFILE_BROKEN, "dockerfile") == [
        ("variable", "A", 4, 4, True, -1, 'ENV A="x', ""),
        ("target", "after", 5, 5, True, -1, "FROM b AS after", ""),
    ]
