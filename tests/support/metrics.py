"""The numbers of ``/metrics``, as Prometheus reads them."""

from collections.abc import Iterator

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample


class Numbers:
    """A text in Prometheus' format.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self.families = list(text_string_to_metric_families(text))
        self.samples = [each for family in self.families for each in family.samples]

    def of(self, name: str, **labels: str) -> float:
        """Give the sum of the samples of a name with these labels; 0 when there is none."""
        return sum(each.value for each in self._named(name, labels))

    def series(self, name: str) -> set[tuple[tuple[str, str], ...]]:
        """Give the labels of all samples of a name."""
        return {tuple(sorted(each.labels.items())) for each in self._named(name, {})}

    def growing(self) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
        """Give all that may only grow."""
        return {
            (each.name, tuple(sorted(each.labels.items()))): each.value
            for family in self.families
            if family.type in ("counter", "histogram")
            for each in family.samples
        }

    def _named(self, name: str, labels: dict[str, str]) -> Iterator[Sample]:
        for each in self.samples:
            if each.name == name and labels.items() <= each.labels.items():
                yield each
