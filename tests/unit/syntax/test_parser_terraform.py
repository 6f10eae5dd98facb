"""Terraform and other HCL: what a text defines."""

from engine.syntax.parser import parse
from tests.support.symbol_rows import rows_of

_TERRAFORM = """
# The region.
variable "region" {
  type = string
}

locals {
  name = "x-${var.region}"
  # Tags.
  tags = {
    a = 1
  }
}

/* The server. */
resource "aws_instance" "web" {
  count = 1
  dynamic "disk" {
    for_each = []
  }
}

data "aws_ami" "ubuntu" {}
output "id" { value = aws_instance.web.id }
module "vpc" {
  source = "./vpc"
}
provider "aws" { region = "x" }
resource plain name {}
job "docs" {
  group "web" {}
}
terraform { required_version = "1" }
size = 2
"""


def test_blocks() -> None:
    assert rows_of(_TERRAFORM, "hcl") == [
        ("variable", "var.region", 2, 4, True, -1, 'variable "region"', "The region."),
        ("variable", "local.name", 7, 7, True, -1, 'name = "x-${var.region}"', ""),
        ("variable", "local.tags", 9, 11, True, -1, "tags", "Tags."),
        (
            "instance",
            "aws_instance.web",
            15,
            20,
            True,
            -1,
            'resource "aws_instance" "web"',
            "The server.",
        ),
        ("instance", "data.aws_ami.ubuntu", 22, 22, True, -1, 'data "aws_ami" "ubuntu"', ""),
        ("property", "output.id", 23, 23, True, -1, 'output "id"', ""),
        ("module", "module.vpc", 24, 26, True, -1, 'module "vpc"', ""),
        ("instance", "provider.aws", 27, 27, True, -1, 'provider "aws"', ""),
        ("instance", "plain.name", 28, 28, True, -1, "resource plain name", ""),
        ("instance", "job.docs", 29, 31, True, -1, 'job "docs"', ""),
        ("variable", "size", 33, 33, True, -1, "size = 2", ""),
    ]


_TERRAFORM_BROKEN = """
variable "before" {
  type = [
}

resource "a" "after" {
  count = 1
}
"""


def test_what_can_be_read_of_a_broken_text_is_there() -> None:
    assert rows_of(_TERRAFORM_BROKEN, "hcl", result="errors") == [
        ("variable", "var.before", 1, 3, True, -1, 'variable "before"', ""),
        ("instance", "a.after", 5, 7, True, -1, 'resource "a" "after"', ""),
    ]


def test_blocks_inside_of_blocks_are_no_symbols() -> None:
    text = b'job "a" {\n  group "b" {\n    task "c" {\n      driver = "d"\n    }\n  }\n}\n'
    symbols = parse(text, "hcl", deadline_ms=600_000).symbols
    assert [symbol.qualified_name for symbol in symbols] == ["job.a"]


def test_a_resource_has_no_parent_that_is_named_as_its_type() -> None:
    text = b'module "web" {}\nresource "web" "x" {}\n'
    symbols = parse(text, "hcl", deadline_ms=600_000).symbols
    assert [(symbol.qualified_name, symbol.parent) for symbol in symbols] == [
        ("module.web", -1),
        ("web.x", -1),
    ]


def test_a_variable_and_a_local_value_of_one_name_are_two() -> None:
    text = b'variable "region" {}\nlocals {\n  region = var.region\n}\n'
    symbols = parse(text, "hcl", deadline_ms=600_000).symbols
    assert [symbol.qualified_name for symbol in symbols] == ["var.region", "local.region"]
