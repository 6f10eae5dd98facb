"""What a form asks for is done and leads to where that is seen, or a page says what was wrong."""

from collections.abc import Callable

from litestar import Response

from engine.errors import EngineError
from web.api.lanes import Lane
from web.api.service import Service
from web.errors import outcome_of
from web.pages.rendering import Visit, page, redirect

_AT_THE_BOX = {"HX-Retarget": "#problem", "HX-Reswap": "outerHTML"}


async def acted(
    service: Service,
    act: Callable[[], str],
    show: Callable[[EngineError], bytes],
    *,
    lane: Lane | None = None,
) -> Response[bytes]:
    """Do something and lead to the address that it gives; what it raises is shown.

    Args:
        service: In whose threads.
        act: What is done.
        show: Makes the page that says what was wrong.
        lane: The threads for what is done; None for those of what ends soon.
    """
    try:
        return redirect(await (lane or service.lanes.work).run(act))
    except EngineError as error:
        told = error
    return page(await service.work(lambda: show(told)), status=outcome_of(told).http_status)


def problem(body: bytes, visit: Visit, error: EngineError) -> Response[bytes]:
    """Answer with what is wrong with a question: htmx puts it to the box, what was found stays."""
    headers = _AT_THE_BOX if visit.is_fragment else {}
    return page(body, status=outcome_of(error).http_status, headers=headers)
