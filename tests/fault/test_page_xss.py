"""Whatever a repository or a question says, a page shows it as text and a browser runs none of it.

The oracle reads each page as a browser does: elements and attributes must be those of templates.
"""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Dialog, Request

from tests.support.browser import browsing, visiting
from tests.support.pages import OWN_FORM, Page, project_ids, site
from tests.support.server import Server

PAYLOADS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg/onload=alert(1)//",
    '"><script>alert(1)</script>',
    "'><script>alert(1)</script>",
    '" onmouseover="alert(1)',
    "' onfocus='alert(1)' autofocus='",
    "</title><script>alert(1)</script>",
    "</textarea><script>alert(1)</script>",
    "</code></pre><script>alert(1)</script>",
    "</span></div></article><iframe src=//evil.example>",
    "<!--><script>alert(1)</script-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<base href=//evil.example>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<link rel=stylesheet href=//evil.example>",
    "<style>*{background:url(//evil.example)}</style>",
    "<form action=//evil.example><button>x",
    "<object data=//evil.example>",
    "<embed src=//evil.example>",
    "<a href=javascript:alert(1)>x</a>",
    "javascript:alert(1)",
    "//evil.example",
    "data:text/html,<script>alert(1)</script>",
    "<div hx-get=//evil.example hx-trigger=load>",
    "<div hx-on:load=alert(1)>",
    "<div data-hx-get=//evil.example data-hx-trigger=load>",
    "<details open ontoggle=alert(1)>",
    "<video src=x onerror=alert(1)>",
    "<input autofocus onfocus=alert(1)>",
    "<math><mi xlink:href=javascript:alert(1)>",
    "<template><script>alert(1)</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "{{7*7}}",
    "{% include '/etc/passwd' %}",
    "{{ visit.__class__.__mro__ }}",
    "${alert(1)}",
    "#{alert(1)}",
    "<%= 7*7 %>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "\\x3cscript\\x3ealert(1)\\x3c/script\\x3e",
    "\\u003cscript\\u003ealert(1)",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "\uff1cscript\uff1ealert(1)\uff1c/script\uff1e",
    "<scr\u202eipt>alert(1)",
    "<script\u2028>alert(1)</script>",
    "<ScRiPt>alert(1)</sCrIpT>",
    "<script/src=//evil.example>",
    "<<script>alert(1)//<</script>",
    "`><script>alert(1)</script>",
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "<svg><use href=//evil.example#x>",
    "<svg><a xlink:href=javascript:alert(1)><text>x",
    "<marquee onstart=alert(1)>",
    "<body onload=alert(1)>",
    "<x onclick=alert(1)>click",
    "<mark class='\"><script>alert(1)</script>'>",
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose name, paths, symbols and contents are all of them markup."""
    tree = tmp_path_factory.mktemp("xss") / "<img src=x onerror=alert(1)>"
    tree.mkdir()
    for number, payload in enumerate(PAYLOADS):
        name = payload.replace("/", "\u2215")[:80]
        (tree / f"{number} {name}.py").write_text(
            f'"""{payload}"""\n\n# needle {payload}\n'
            f"def needle_{number}():\n    return {payload!r}\n"
        )
    (tree / "page.html").write_text("\n".join(PAYLOADS))
    (tree / "notes.md").write_text("".join(f"# needle {payload}\n\n" for payload in PAYLOADS))
    return tree


@pytest.fixture(scope="module")
def server(hostile: Path) -> Iterator[Server]:
    with site(hostile.parent, hostile) as server:
        yield server


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as client:
        client.headers["Accept"] = "text/html"
        yield client


def _addresses(client: httpx.Client, hostile: Path) -> list[str]:
    """Give the addresses of all pages, with each payload in each place of them."""
    [project_id] = project_ids(client).values()
    found = client.get(f"/api/v1/projects/{project_id}/files?limit=1000").json()["files"]
    files = [each["path"] for each in found]
    assert len(files) == len(PAYLOADS) + 2
    job = client.get("/api/v1/jobs").json()["jobs"][0]["job_id"]
    addresses = ["/", "/jobs", f"/jobs/{job}", "/folders", f"/folders?path={quote(str(hostile))}"]
    addresses += [f"/p/{project_id}/f/{quote(file, errors='replace')}" for file in files]
    addresses += [f"/p/{project_id}/related/notes.md", f"/p/{project_id}"]
    for payload in PAYLOADS:
        text = quote(payload, safe="")
        addresses += [
            f"/search?q={text}",
            f"/search?q=needle+{text}&mode=regex",
            f"/search?q=foo:{text}",
            f"/search?mode={text}",
            f"/search?q=x&cursor={text}",
            f"/jobs?status={text}",
            f"/jobs?project={text}",
            f"/jobs/{text}",
            f"/folders?path={text}",
            f"/p/{project_id}/f/{text}",
            f"/p/{text}/f/x",
            f"/p/{project_id}?skips={text}",
            f"/{text}",
            f"/?{text}",
        ]
    addresses += [f"/search?q=needle&mode={mode}" for mode in ("hybrid", "keyword", "symbol")]
    return addresses


def _check(client: httpx.Client, hostile: Path, *, every: int) -> int:
    addresses = _addresses(client, hostile)[::every]
    for address in addresses:
        answer = client.get(address)
        assert answer.status_code < 500, address
        Page.of(answer)
        if address.startswith(("/search?q=needle", "/jobs?")):
            Page.of(client.get(address, headers={"HX-Request": "true"}))
    for payload in PAYLOADS[::every]:
        Page.of(client.post("/", data={"path": payload}, headers=OWN_FORM))
        client.cookies.set("cairn_theme", quote(payload, safe="<>()"))
        Page.of(client.get("/jobs"))
    print(f"{len(addresses)} addresses")
    return len(addresses)


def test_pages_hold_only_what_templates_write(client: httpx.Client, hostile: Path) -> None:
    # Five and fourteen places have no common factor: each place gets some of the payloads.
    assert _check(client, hostile, every=5) >= 60 * 14 // 5


@pytest.mark.soak
def test_every_page_holds_only_what_templates_write(client: httpx.Client, hostile: Path) -> None:
    assert _check(client, hostile, every=1) >= 60 * 14


def test_a_browser_runs_none_of_it(server: Server, hostile: Path) -> None:
    with server.client() as client:
        addresses = _addresses(client, hostile)
    [project_id] = {each.split("/")[2] for each in addresses if each.endswith("/f/page.html")}
    with browsing() as browser, visiting(browser, server.url) as page:
        ran: list[str] = []
        foreign: list[str] = []

        def dismiss(dialog: Dialog) -> None:
            ran.append(dialog.message)
            dialog.dismiss()

        def look(request: Request) -> None:
            if not request.url.startswith(server.url):
                foreign.append(request.url)

        page.on("dialog", dismiss)
        page.on("request", look)
        for address in (
            "/",
            "/jobs",
            "/search?q=needle",
            "/search?q=%3C.%2A%3E&mode=regex",
            f"/p/{project_id}/f/page.html",
            f"/p/{project_id}/f/notes.md",
            f"/p/{project_id}/related/notes.md",
            *(f"/search?q={quote(payload, safe='')}" for payload in PAYLOADS[:2]),
        ):
            page.goto(address)
            page.wait_for_load_state("load")
        page.goto("/search")
        for payload in PAYLOADS[:2]:
            page.locator("#q").fill(payload)
            page.locator("#summary").wait_for()
        assert (ran, foreign) == ([], [])
