"""The switch between dark and light, for browsers that run no script."""

from typing import Any

from litestar import Request, Response, post

from web.pages.forms import form_of
from web.pages.rendering import THEME_COOKIE, THEMES, own_place, redirect

_YEAR_S = 31_536_000


@post("/theme", include_in_schema=False, status_code=303)
async def switch_theme(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Keep the theme in a cookie, and lead back to where it was asked for."""
    form = await form_of(request)
    answer = redirect(own_place(form.get("back", "/")))
    theme = form.get("theme", "")
    if theme in THEMES:
        answer.set_cookie(THEME_COOKIE, theme, max_age=_YEAR_S, path="/", samesite="strict")
    return answer
