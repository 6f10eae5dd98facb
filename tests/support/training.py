"""A small repository to learn from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.support.git_trees import run_git
from tools.training.corpora import Mirror

MIT: Final = """MIT License

Permission is hereby granted, free of charge, to any person obtaining a copy of this software, to
deal in it. The above copyright notice and this permission notice shall be included in all copies.
"""

CODE: Final = {
    "LICENSE": MIT,
    "shop/basket.py": '''"""The baskets of people who have not paid."""


class Basket:
    """What somebody wants to buy, until it is paid."""

    def __init__(self, customer):
        self.items = []
        self.customer = customer

    def add_item(self, article, amount=1):
        """Put an article into the basket, several times if asked."""
        for _ in range(amount):
            self.items.append(article)
        return len(self.items)

    def total(self, currency):
        """Give the total price of everything in the basket."""
        prices = [article.price_in(currency) for article in self.items]
        # customers of long standing pay a little less than others do
        discount = self.customer.discount_share
        return sum(prices) * (1 - discount)
''',
    "shop/mail.py": '''"""Letters to customers."""

from shop.templates import load_template


def send_order_mail(order, server):
    """Tell the customer by letter that an order was taken."""
    template = load_template("order")
    body = template.render(order=order, customer=order.customer)
    server.deliver(order.customer.address, body)
    return body


def parse_address(written):
    """Split an electronic address into the name and the host."""
    local, _, host = written.rpartition("@")
    if not local or not host:
        raise ValueError(written)
    return local, host.lower()
''',
    "README.md": """# How to pay later in the shop

Choose the invoice when you are asked how you would like to pay, and wait for our letter to arrive.

## Letters

The function `send_order_mail` writes to the customer when the order was taken by the shop.
""",
}


def mirror_of(mirrors: Path, name: str, files: Mapping[str, str]) -> Mirror:
    """Make a bare repository with one commit."""
    tree = mirrors / "trees" / name
    for path, text in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text, "utf-8")
    mirror = Mirror(mirrors, name)
    for arguments in (
        ["init", "-q"],
        ["add", "."],
        ["commit", "-q", "-m", "feat: begin shop with baskets (#1)"],
        ["clone", "-q", "--bare", ".", str(mirror.directory)],
    ):
        run_git(tree, mirrors, *arguments)
    return mirror
