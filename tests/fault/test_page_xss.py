"""Whatever a repository or a question says, a page shows it as text and a browser runs none of it.

The oracle reads each page as a browser does: elements and attributes must be those of templates.
"""

import json
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
    "{{ page_request.__class__.__mro__ }}",
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


#: What another page of this origin could have left in the browser.
_KEPT = [
    {"name": "<img src=x onerror=alert(1)>", "q": "<script>alert(1)</script>", "mode": "//x"},
    {"name": 7, "q": ["x"], "mode": "hybrid"},
    None,
]


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
        (tree / "folders" / name).mkdir(parents=True)
        (tree / "folders" / name / "inside.py").write_text("x = 1\n")
        (tree / "folders" / f"{name}.zip").write_bytes(b"\0")
    for number, payload in enumerate(PAYLOADS[::6]):
        folder = tree / f"{number} {payload.replace('/', chr(0x2215))[:80]}" / "inner"
        folder.mkdir(parents=True)
        (folder / "deep.py").write_text(f"def deep_{number}():\n    return 1\n" * 50)
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


#: Where a text of somebody else's can stand in an address.
_PLACES = (
    "/search?q={text}",
    "/search?q=needle+{text}&mode=regex",
    "/search?q=foo:{text}",
    "/search?mode={text}",
    "/search/suggest?q={text}",
    "/search/suggest?q=path:{start}",
    "/p/{id}/lines/notes.md?hit=1-3&shown=1-9&mark={text}",
    "/p/{id}/lines/{text}?hit={text}",
    "/p/{id}/preview/{text}?hit=1-3",
    "/p/{id}/preview/notes.md?hit=1-3&mark=needle&mark={text}&branch={text}",
    "/p/{id}/preview/page.html?hit=3-9&mark={text}",
    "/search?q=x&cursor={text}",
    "/search?q=needle&rest={text}",
    "/jobs?status={text}",
    "/jobs?project={text}",
    "/jobs/{text}",
    "/jobs?first={text}",
    "/jobs/{job}?events={text}",
    "/?name={text}",
    "/folders?path={text}",
    "/p/{id}/f/{text}",
    "/p/{id}/f/notes.md?at={text}",
    "/p/{id}/f/notes.md?q={text}&match=2",
    "/p/{id}/tree/{text}",
    "/find?q={text}",
    "/find?q=needle&project={text}",
    "/p/{text}/f/x",
    "/p/{id}?skips={text}",
    "/p/{id}?folder={text}",
    "/p/{text}/doctor",
    "/p/{id}/symbols?name={text}",
    "/p/{id}/symbols?name={text}&kind={text}",
    "/p/{id}/symbols?language={text}",
    "/p/{id}/symbols?path={text}",
    "/p/{id}/symbols?cursor={text}",
    "/p/{id}/memories?q={text}",
    "/p/{id}/memories?tag={text}",
    "/p/{id}/memories?cursor={text}",
    "/p/{id}/memories?saved={text}",
    "/{text}",
    "/?{text}",
    "/?forgotten={text}",
)
#: What htmx asks for a part of, among others.
_WITH_PARTS = ("/search?q=needle", "/search/suggest", "/jobs?", "/find?")
_PARTS = ("/tree", "s?", "/lines/", "/preview/")


def _addresses(client: httpx.Client, hostile: Path) -> list[str]:
    """Give the addresses of all pages, with each payload in each place of them."""
    [project_id] = project_ids(client).values()
    found = client.get(f"/api/v1/projects/{project_id}/files?limit=1000").json()["files"]
    files = [each["path"] for each in found]
    folders = {file.partition("/")[0] for file in files if "/" in file} - {"folders"}
    assert len(files) == 2 * len(PAYLOADS) + len(folders) + 2
    assert len(folders) == len(PAYLOADS[::6])
    job = client.get("/api/v1/jobs").json()["jobs"][0]["job_id"]
    addresses = [
        "/",
        "/status",
        "/jobs",
        f"/jobs/{job}",
        "/folders",
        f"/folders?path={quote(str(hostile))}",
    ]
    addresses += [f"/p/{project_id}/f/{quote(file, errors='replace')}" for file in files]
    addresses += [f"/p/{project_id}/related/notes.md", f"/p/{project_id}"]
    addresses += [f"/p/{project_id}{part}" for part in ("/map", "/doctor", "?folder=0%20")]
    addresses += [f"/p/{project_id}?folder={quote(folder)}" for folder in sorted(folders)]
    addresses += [f"/p/{project_id}/tree", f"/p/{project_id}/tree/folders"]
    addresses += [f"/find?q={letter}" for letter in "a<(/\"'"]
    addresses += [f"/search?q=needle&mode={mode}" for mode in ("hybrid", "keyword", "symbol")]
    addresses += ["/search?q=needle&rest=1"]
    addresses += [f"/p/{project_id}/symbols?name=needle", f"/p/{project_id}/symbols?kind=section"]
    addresses += [f"/p/{project_id}/memories", f"/p/{project_id}/memories?q=needle"]
    return addresses


def _remember(client: httpx.Client, memories: str, payload: str) -> None:
    """Save a payload in each part of a memory, and have it refused in each field of the form."""
    tag = payload.replace(",", " ")[:60]
    body = {"summary": payload, "description": payload, "context": {payload: [payload]}}
    saved = client.post(f"/api/v1/projects{memories[2:]}", json={**body, "tags": [tag]})
    assert saved.status_code == 201, saved.text
    form = {"summary": payload, "description": payload, "tags": f"{payload},!"}
    refused = client.post(memories, data=form, headers=OWN_FORM)
    assert refused.status_code == 400
    Page.of(refused)


def _check(client: httpx.Client, hostile: Path, *, every: int) -> int:
    """Ask for addresses with every payload, of each place one in so many; say how many."""
    [project_id] = project_ids(client).values()
    known = {"id": project_id, "job": client.get("/api/v1/jobs").json()["jobs"][0]["job_id"]}
    for payload in PAYLOADS[::every]:
        _remember(client, f"/p/{project_id}/memories", payload)
    addresses = _addresses(client, hostile)[::every]
    addresses.append(f"/p/{project_id}/map")
    for number, payload in enumerate(PAYLOADS):
        text, start = quote(payload, safe=""), quote(payload[:3], safe="")
        chosen = _PLACES[number % every :: every]
        addresses += [place.format(**known, text=text, start=start) for place in chosen]
    for address in addresses:
        answer = client.get(address)
        assert answer.status_code < 500, address
        if answer.status_code != 303:  # parts of a page lead to it
            Page.of(answer)
        if address.startswith(_WITH_PARTS) or any(part in address for part in _PARTS):
            part = client.get(address, headers={"HX-Request": "true"})
            assert part.status_code < 500, address
            if part.headers["content-type"].startswith("text/html"):
                Page.of(part)
    for payload in PAYLOADS[::every]:
        Page.of(client.post("/", data={"path": payload}, headers=OWN_FORM))
        client.cookies.set("cairn_theme", quote(payload, safe="<>()"))
        Page.of(client.get("/jobs"))
    print(f"{len(addresses)} addresses")
    return len(addresses)


def test_pages_hold_only_what_templates_write(client: httpx.Client, hostile: Path) -> None:
    assert _check(client, hostile, every=5) >= len(PAYLOADS) * len(_PLACES) // 5


@pytest.mark.soak
def test_every_page_holds_only_what_templates_write(client: httpx.Client, hostile: Path) -> None:
    assert _check(client, hostile, every=1) >= len(PAYLOADS) * len(_PLACES)


def test_a_browser_runs_none_of_it(server: Server, hostile: Path) -> None:
    with server.client() as client:
        addresses = _addresses(client, hostile)
        [project_id] = {each.split("/")[2] for each in addresses if each.endswith("/f/page.html")}
        for payload in PAYLOADS[:12]:
            _remember(client, f"/p/{project_id}/memories", payload)
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
            "/status",
            "/jobs",
            "/search?q=needle",
            "/search?q=%3C.%2A%3E&mode=regex",
            f"/p/{project_id}/f/page.html",
            f"/p/{project_id}/f/notes.md",
            f"/p/{project_id}/related/notes.md",
            f"/p/{project_id}",
            f"/p/{project_id}/map",
            f"/p/{project_id}/symbols?kind=section",
            f"/p/{project_id}/symbols?name=needle",
            f"/p/{project_id}/memories",
            f"/p/{project_id}/tree/folders",
            "/find?q=needle",
            *(f"/search?q={quote(payload, safe='')}" for payload in PAYLOADS[:2]),
        ):
            page.goto(address)
            page.wait_for_load_state("load")
        page.goto("/search")
        for payload in PAYLOADS[:2]:
            page.locator("#q").fill(payload)
            page.locator("#summary").wait_for()
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("t")
        for payload in ("<", "script", PAYLOADS[1]):
            page.locator("#finder-box").fill(payload)
            page.locator("#found [role=status]").wait_for()
        page.keyboard.press("Escape")
        page.keyboard.press("Control+k")
        for payload in ("<", "script", PAYLOADS[1]):
            page.locator("#palette-box").fill(payload)
            page.locator("#palette-found [data-group=search]").wait_for()
        page.keyboard.press("Escape")
        page.locator("#q").fill("")
        page.locator("#q").press_sequentially("needle", delay=20)
        page.locator("#suggestions [role=option]").first.wait_for()
        page.keyboard.press("Enter")
        page.locator("#preview-body .line").first.wait_for()
        page.keyboard.press("Tab")
        page.evaluate("kept => localStorage.setItem('cairn.saved', kept)", json.dumps(_KEPT))
        page.goto("/search")
        page.get_by_text("<img src=x onerror=alert(1)>").first.wait_for()
        assert (ran, foreign) == ([], [])
