"""How many passages go together: grows, shrinks, and keeps off what was refused."""

from engine.embedding.batches import BatchSize, batches_of


def test_each_text_is_in_one_batch_and_equals_are_together() -> None:
    texts = ["x" * (number % 7 * 300) for number in range(100)]
    batches = list(batches_of(texts, BatchSize(32, 2000)))
    assert sorted(index for batch in batches for index in batch) == list(range(100))
    for batch in batches:
        longest = max(len(texts[index]) for index in batch)
        assert len(batch) == 1 or len(batch) * longest / 3.5 <= 2000
    assert list(batches_of([], BatchSize(32, 2000))) == []


def test_a_text_above_the_budget_is_a_batch_of_its_own() -> None:
    assert list(batches_of(["x" * 9000, "y"], BatchSize(32, 100))) == [[0], [1]]


def test_size_follows_the_time_that_answers_take() -> None:
    size = BatchSize(64, 10**6)
    for took_s, items in ((0.1, 16), (0.1, 32), (2.0, 32), (5.0, 16), (0.1, 32), (0.1, 64)):
        size.record_success(size.items, took_s)
        assert size.items == items
    size.record_success(64, 0.1)
    assert size.items == 64
    size.record_success(1, 99.0)
    assert size.items == 1


def test_a_half_filled_batch_says_nothing_about_larger_ones() -> None:
    size = BatchSize(64, 10**6)
    size.record_success(3, 0.1)
    assert size.items == 8


def test_what_was_refused_is_not_tried_again() -> None:
    size = BatchSize(64, 10**6)
    size.record_refusal(8, 800)
    for _ in range(5):
        size.record_success(size.items, 0.1)
    assert size.items == 4
    assert not size.fits(4, 101)
    assert size.fits(4, 100)
    assert size.fits(1, 10**9)
