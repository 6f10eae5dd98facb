"""Contexts on the home page: made, chosen, changed and removed by its form."""

from pathlib import Path

from tests.support.pages import OWN_FORM, Page, project_ids, site
from tests.support.trees import write_tree

HTMX = {"HX-Request": "true"}


def _three_projects(home: Path) -> list[str]:
    roots = [home / name for name in ("app", "api", "site")]
    for root in roots:
        write_tree(root, {f"{root.name}.py": "def refresh_session(token):\n    return token\n"})
    return [str(root) for root in roots]


def test_contexts_are_made_chosen_changed_and_removed_by_forms(tmp_path: Path) -> None:
    with site(tmp_path, *map(Path, _three_projects(tmp_path))) as server, server.client() as client:
        ids = project_ids(client)
        form = {"name": "work", f"project-{ids['app']}": "on", f"project-{ids['api']}": "on"}
        made = client.post("/contexts", data=form, headers=OWN_FORM)
        assert (made.status_code, made.headers["location"]) == (303, "/?context=work")
        page = Page.of(client.get("/?context=work"))
        assert sorted(each["data-project"] for each in page.all("li", class_="card")) == sorted(
            [ids["app"], ids["api"]]
        )
        assert {"name": "context", "value": "work"}.items() <= page.all(
            "input", type="hidden", id="q-scope"
        )[0].items()
        boxes = page.all("input", type="checkbox")
        chosen = [each["name"] for each in boxes if "checked" in each and "name" in each]
        assert sorted(chosen) == sorted([f"project-{ids['app']}", f"project-{ids['api']}"])

        found = Page.of(client.get("/search", params={"q": "refresh", "context": "work"}))
        assert found.all("input", id="q")[0]["value"] == "refresh context:work"
        assert "site.py" not in found.text

        taken = client.post("/contexts", data=form, headers=OWN_FORM)
        assert taken.status_code == 409
        again = Page.of(taken)
        assert again.all("p", id="context-error", role="alert")
        assert again.all("input", id="context-name")[0]["aria-invalid"] == "true"

        # Meanwhile another face adds a project; saving what was shown before keeps it.
        was = page.all("input", type="hidden", name="was")[0]["value"]
        client.patch("/api/v1/contexts/work", json={"add": ["site"]})
        changed = {"old": "work", "was": was, "name": "day-job", f"project-{ids['app']}": "on"}
        assert client.post("/contexts", data=changed, headers=OWN_FORM).status_code == 303
        kept = client.get("/api/v1/contexts/day-job").json()["projects"]
        assert {each["project_id"] for each in kept} == {ids["app"], ids["site"]}

        suggested = client.get("/search/suggest", params={"q": "context:d"}, headers=HTMX)
        assert "day-job" in suggested.text
        assert "2 projects" in suggested.text
        inside = client.get(
            "/search/suggest", params={"q": "refresh", "context": "day-job"}, headers=HTMX
        )
        assert "site.py" in inside.text
        assert "api.py" not in inside.text

        gone = client.post(f"/p/{ids['site']}/forget", data={"name": "site"}, headers=OWN_FORM)
        assert (
            "it has left the context day-job" in Page.of(client.get(gone.headers["location"])).text
        )
        unknown = Page.of(client.get("/?context=dayjob"))
        assert "No context is named 'dayjob', did you mean 'day-job'" in unknown.text
        assert any("context=day-job" in link for link in unknown.links)
        remove = {"old": "day-job", "name": "", "act": "remove"}
        assert client.post("/contexts", data=remove, headers=OWN_FORM).headers["location"] == "/"
        assert client.get("/api/v1/contexts").json() == {"contexts": []}


def test_a_damaged_file_of_contexts_leaves_the_page_usable(tmp_path: Path) -> None:
    with site(tmp_path, *map(Path, _three_projects(tmp_path))) as server, server.client() as client:
        (server.home / "contexts.json").write_text("{")
        page = Page.of(client.get("/"))
        assert len(page.all("li", class_="card")) == 3
        assert "are damaged" in page.text
        assert "are damaged" in Page.of(client.get("/?context=work")).text
        form = {"name": "work", f"project-{project_ids(client)['app']}": "on"}
        answer = client.post("/contexts", data=form, headers=OWN_FORM)
        assert answer.status_code == 500
        assert Page.of(answer).all("p", id="context-error")
