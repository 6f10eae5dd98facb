"""What an embedding server is sent of a project, and that the documentation names all of it."""

from pathlib import Path

from engine.config import Config, load_config
from engine.embedding.load import open_embedder
from engine.memory_records import NewMemory
from engine.search_records import SearchRequest
from tests.support.catalogs import open_catalog
from tests.support.command import ROOT
from tests.support.embedding_server import embedding_server
from tests.support.git_trees import run_git
from tests.support.trees import write_tree

_SECRET = "gh" + "p_" + "16C7e42F292c6912E7710c838347Ae178B4a"
#: What is sent, each by how the page calls it, and by what it is known here.
_SENT = {
    "code": "def nest_of_owls",
    "documents": "Owls are counted at dusk",
    "paths": "belfry/owls.py",
    "commit messages": "Let owls in\n\nThey come at night",
    "notes": "The rope is new",
    "queries": f"who holds {_SECRET}",
}


def test_the_page_of_models_names_all_that_a_server_is_sent(
    config: Config, tree: Path, tmp_path: Path
) -> None:
    code = f'def nest_of_owls():\n    return "{_SECRET}"\n'
    document = f"# Count\n\nOwls are counted at dusk, with {_SECRET}.\n"
    write_tree(tree, {"belfry/owls.py": code, "count.md": document})
    message = f"Let owls in\n\nThey come at night, by {_SECRET}"
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", message]):
        run_git(tree, tmp_path, *command)
    with embedding_server() as stub:
        settings = load_config(config.data_dir, workers=1, model=f"openai:m@{stub.url}")
        with open_catalog(settings, open_embedder=open_embedder) as catalog:
            index = catalog.create(str(tree))
            index.index()
            index.read_history()
            index.checkpoints.save(NewMemory(summary="The rope is new", description=_SECRET))
            assert index.search(SearchRequest(query=_SENT["queries"])).notes == ()
        sent = [text for each in stub.requests for text in each.texts]
    for what in _SENT.values():
        assert any(what in text for text in sent), what
    assert [text for text in sent if _SECRET in text] == [_SENT["queries"]]
    page = (ROOT / "docs/models.md").read_text("utf-8")
    [line] = [line for line in page.splitlines() if line.startswith("- **Privacy.**")]
    assert [name for name in _SENT if name not in line] == []
