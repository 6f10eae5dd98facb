"""Settings: each with its value, origin, default and meaning; the safe ones can be changed."""

from dataclasses import replace
from typing import Annotated

from litestar import get, patch
from msgspec import Meta, Struct

from engine.settings import SettingList
from web.api.service import Service

_TAGS = ("server",)


class SettingsPatch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings to store, all or none."""

    values: Annotated[
        dict[str, str | int | None],
        Meta(
            min_length=1,
            max_length=100,
            description="by name; null removes a line of config.toml, so that the default holds",
            examples=[{"job_retention": 30, "editor": None}],
        ),
    ]


@get("/settings", operation_id="listSettings", summary="All settings", tags=_TAGS)
async def list_settings(service: Service) -> SettingList:
    """List the settings in force with where each comes from. Secrets are never part of it."""
    return await service.work(lambda: _all(service))


@patch("/settings", operation_id="changeSettings", summary="Change settings", tags=_TAGS)
async def change_settings(service: Service, data: SettingsPatch) -> SettingList:
    """Store settings in `config.toml`; a server uses them after a restart (`pending`).

    Address, port and model cannot be changed this way, nor can secrets.
    """

    def change() -> SettingList:
        service.catalog.settings.change_all(data.values)
        return _all(service)

    return await service.work(change)


def secrets_of(service: Service) -> dict[str, bool]:
    """Return the secrets and whether each is set; the token may come from its file."""
    return {**service.catalog.settings.secrets(), "CAIRN_TOKEN": bool(service.settings.token)}


def _all(service: Service) -> SettingList:
    return replace(service.catalog.settings.list(), secrets=secrets_of(service))


HANDLERS = (list_settings, change_settings)
