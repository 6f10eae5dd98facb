"""What the server counts and times, for Prometheus."""

from litestar import Response, get
from litestar.enums import MediaType

from web.api.service import Service


@get(
    "/metrics",
    operation_id="metrics",
    summary="Numbers for Prometheus",
    tags=["server"],
    media_type=MediaType.TEXT,
)
async def metrics(service: Service) -> Response[bytes]:
    """Give all numbers in Prometheus' text format."""
    text = await service.work(service.observer.exposition)
    return Response(text, media_type=service.observer.content_type)
