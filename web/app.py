"""The server's application: routes, what stands before them, and what lives as long as it does."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from litestar import Litestar
from litestar.di import Provide
from litestar.types import ControllerRouterHandler

from engine.catalog import Catalog
from web.api import description
from web.api.description import openapi_config
from web.api.failures import handlers_of
from web.api.health import health, version
from web.api.metrics import metrics
from web.api.requests import ApiRequest
from web.api.routes import api_router, with_errors
from web.api.service import Service
from web.api.treatments import Treatments
from web.console.failures import log_traceback
from web.pages.export import delete_leftovers
from web.pages.failures import as_pages, refusal_page
from web.pages.rendering import Pages
from web.pages.routes import pages_router
from web.security.serving import Serving
from web.security.shield import Logs, Shield
from web.upkeep import Upkeep

#: What lives as long as the server, beside what is here: entered in order, left in reverse.
Lifespan = Callable[[Litestar], AbstractAsyncContextManager[None]]


def create_app(
    catalog: Catalog,
    serving: Serving,
    *,
    handlers: Sequence[ControllerRouterHandler] = (),
    lifespans: Sequence[Lifespan] = (),
) -> Litestar:
    """Make the application of a server.

    Args:
        catalog: The projects; stays open as long as the server lives, and is closed by whoever
            opened it.
        serving: Where the server listens, what it serves, and who may ask.
        handlers: More routes and mounted applications; all stand behind the same checks.
        lifespans: What they need for as long as the server lives.
    """
    pages = Pages()
    log = catalog.server_log()

    def note(error: BaseException) -> None:
        log.event("failure", level="error", reason=type(error).__name__)
        log_traceback(error, str(catalog.data_dir / "logs"))

    service = Service(
        catalog=catalog,
        serving=serving,
        observer=catalog.observer(version()),
        treatments=Treatments(note),
    )
    app = Litestar(
        route_handlers=[
            pages_router(pages),
            with_errors(health),
            with_errors(metrics),
            *description.HANDLERS,
            api_router(),
            *handlers,
        ],
        request_class=ApiRequest,
        dependencies={"service": Provide(lambda: service, sync_to_thread=False, use_cache=True)},
        exception_handlers=as_pages(handlers_of(note), pages, service),
        lifespan=[_lifespan_of(service, Upkeep(catalog, serving, log.event)), *lifespans],
        openapi_config=openapi_config(),
        logging_config=None,
        signature_types=[Service],
    )
    app.state.service = service
    app.asgi_handler = Shield(
        app.asgi_handler,
        serving,
        Logs(request=log.event, failure=note),
        page_of=refusal_page(pages),
    )
    return app


def service_of(app: Litestar) -> Service:
    """Give what the handlers of an application work with."""
    service = app.state.service
    assert isinstance(service, Service)
    return service


def _lifespan_of(service: Service, upkeep: Upkeep) -> Lifespan:
    @asynccontextmanager
    async def lifespan(_app: Litestar) -> AsyncIterator[None]:
        service.observer.start()
        await asyncio.to_thread(delete_leftovers, service.catalog.data_dir)
        upkeep.start()
        try:
            yield
        finally:
            await service.end_waiting()
            await asyncio.to_thread(upkeep.stop)
            await asyncio.to_thread(service.lanes.close)
            await asyncio.to_thread(service.observer.stop)

    return lifespan
