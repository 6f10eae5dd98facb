import time
from collections.abc import Callable

import pytest

from engine.source.secret_files import is_secret_file
from engine.source.secrets import redact
from engine.syntax.language_table import TABLE
from tests.support.canaries import PLACES, TOKENS, drawing, private_key

SECRET_FILES = {
    ".env": ".env",
    "app/.ENV": ".env",
    ".env.local": ".env.*",
    ".env.production": ".env.*",
    ".env-staging": ".env.*",
    "prod.env": "*.env",
    "certs/server.pem": "*.pem",
    "certs/server.KEY": "*.key",
    "keys/id_rsa": "id_rsa",
    "id_ed25519_work": "id_*",
    "app.p12": "*.p12",
    "app.pfx": "*.pfx",
    "debug.keystore": "*.keystore",
    **{
        f"store.{extension}": f"*.{extension}"
        for extension in (
            "agekey env jceks kbx kdb key keychain keytab keyx ovpn p8 pem pk8 pkcs12 pkcs8 ppk"
            " psafe3 tfvars wallet"
        ).split()
    },
    "release.jks": "*.jks",
    "vault.kdbx": "*.kdbx",
    "home/.netrc": ".netrc",
    "_netrc": "_netrc",
    ".npmrc": ".npmrc",
    ".pypirc": ".pypirc",
    ".dockercfg": ".dockercfg",
    ".docker/config.json": ".docker/config.json",
    "credentials": "credentials",
    "Credentials.JSON": "credentials.json",
    "home/.aws/config": ".aws/**",
    ".ssh/known_hosts": ".ssh/**",
    "x/.gnupg/trustdb.gpg": ".gnupg/**",
    "kubeconfig": "kubeconfig",
    "home/.kube/config": ".kube/config",
    "terraform.tfstate": "*.tfstate",
    "terraform.tfstate.backup": "*.tfstate.backup",
    "prod.auto.tfvars": "*.tfvars",
    "prod.tfvars.json": "*.tfvars.json",
    ".git-credentials": ".git-credentials",
    ".htpasswd": ".htpasswd",
    "my-service-account-prod.json": "service-account*.json",
    "app-firebase-adminsdk-1.json": "service-account*.json",
    "config/secrets.yml": "*secret*",
    "config/secrets.json": "*secret*",
    "secrets.toml": "*secret*",
    "secrets.prod.yml": "*secret*",
    "k8s/db-secret.yaml": "*secret*",
    "client_secret_1.json": "*secret*",
    "client_secret_1-x.apps.googleusercontent.com.json": "service-account*.json",
    "aws-credentials.ini": "*credentials*",
    "client_secret.txt": "*secret*",
    "new_user_credentials.csv": "*credentials*",
    "secrets.enc": "*secret*",
    "client_secret.json": "client_secret.json",
    "MY_SECRETS": "*secret*",
    ".secret_key": "*secret*",
    "id_rsa.bak": "id_*",
    "home/.bash_history": ".bash_history",
    ".zsh_history": ".zsh_history",
    ".python_history": ".python_history",
    ".config/fish/fish_history": "fish_history",
    "secret_key.gpg": "*secret*",
    "wallet.dat": "wallet.dat",
    "UTC--2016-03-22T12-57-55--008aeeda": "UTC--*",
    "server.key.bak": "*.key.bak",
    "app.env.local": "*.env.*",
    "a/.netrc~": ".netrc~",
    "#.env#": "#.env#",
    ".npmrc.bak": ".npmrc.bak",
    "certs/server.pem~": "*.pem~",
    ".server.pem.swp": "*.pem.swp",
    "prod.env.bak": "*.env.bak",
    "home/.docker/config.json~": ".docker/config.json~",
    "secrets.yml~": "*secret*~",
    "terraform.tfvars.orig": "*.tfvars.orig",
}


@pytest.mark.parametrize(("path", "rule"), SECRET_FILES.items())
def test_files_with_secrets_are_told_by_their_names(path: str, rule: str) -> None:
    assert is_secret_file(path) == rule


@pytest.mark.parametrize(
    "path",
    [
        "src/main.py",
        ".env.example",
        "a/.env.sample",
        ".env.template",
        ".env.dist",
        ".env.defaults",
        ".env.local.example",
        "example.env",
        "example.tfvars",
        "secrets.example.yml",
        "environment.py",
        "env.py",
        ".environment",
        "secrets.py",
        "src/SecretManager.java",
        "credentials_provider.go",
        "client_secret.go",
        "azure_client_secret_missing.bad.yml",
        "no_client_secret_file.json",
        "aws_secret.tf",
        "secret.stub",
        "create_secret.test",
        "history",
        "docs/history.md",
        "docs/secrets.md",
        "secrets.tf",
        "templates/secret.yaml.tpl",
        "templates/credentials.yml.tt",
        "id_rsa.pub",
        "id_rsa_test.go",
        "server.crt",
        "keys.py",
        "monkey",
        "keyboard.json",
        "tokens.json",
        "package.json",
        "config.json",
        "docker/config.json",
        "service-account.yaml",
        "aws/config",
        "x.aws/config",
        ".github/workflows/ci.yml",
        "data.json.bak",
        "main.py~",
        "#main.py#",
        "example.env.bak",
        "vite.env.ts",
        "~",
        "#",
        "a/.bak",
        "",
    ],
)
def test_other_files_are_not_secret(path: str) -> None:
    assert is_secret_file(path) is None


AROUND = [
    ("x = '", "'\n"),
    ('{"a": "', '"}'),
    ("- ", "\n"),
    ("# see ", " there"),
    ("f(`", "`)"),
    ('print("\\n', '\\n")'),
    ("", ""),
]


def test_text_of_every_language_may_be_about_secrets() -> None:
    extensions = {each for language in TABLE for each in language.extensions}
    named = {each for each in extensions if is_secret_file(f"a_secret_of{each}")}
    # These may hold bare values, or are secret whatever they are called.
    assert named == {".csv", ".text", ".tfvars", ".tsv", ".txt"}
    code = {each for item in TABLE if item.family == "code" for each in item.extensions}
    assert {each for each in code if is_secret_file(f"secrets{each}")} == {".edn", ".tfvars"}


@pytest.mark.parametrize(("before", "after"), AROUND)
@pytest.mark.parametrize("kind", TOKENS)
def test_tokens_are_blotted_wherever_they_stand(kind: str, before: str, after: str) -> None:
    token = TOKENS[kind](drawing(7))
    text, count = redact(f"{before}{token}{after}".encode())
    assert text.decode() == f"{before}{'*' * len(token)}{after}"
    assert count == 1


@pytest.mark.parametrize("kind", PLACES)
def test_values_are_blotted_and_their_names_stay(kind: str) -> None:
    template, canary = PLACES[kind]
    value = canary(drawing(11))
    text, count = redact((template % value).encode())
    assert text.decode() == template % ("*" * len(value))
    assert count == 1


def test_a_private_key_is_blotted_line_by_line() -> None:
    block, body = private_key(drawing(3))
    text, count = redact(f"before = 1\n{block}after = 2\n".encode())
    stars = "\n".join("*" * len(line) for line in body)
    assert text.decode().splitlines()[0] == "before = 1"
    assert f"KEY-----\n{stars}\n-----END" in text.decode()
    assert text.decode().splitlines()[-1] == "after = 2"
    assert count == 1


def test_a_key_and_two_values_are_three_secrets() -> None:
    block, _ = private_key(drawing(3))
    [first, second] = [PLACES[kind] for kind in list(PLACES)[:2]]
    values = [template % canary(drawing(11)) for template, canary in (first, second)]
    indented = block.replace("\n", "\n    ")
    assert redact(f"{values[0]}\n{indented}\n{values[1]}\n{block}".encode())[1] == 4
    assert redact(f"{values[0]}\n{block}\n{values[1]}\n".encode())[1] == 3


def test_a_private_key_in_string_literals_is_blotted() -> None:
    block, body = private_key(drawing(4))
    literals = " +\n".join(f'    "{line}\\n"' for line in block.splitlines())
    in_json = '{"private_key": "' + block.replace("\n", "\\n") + '", "type": "x"}'
    for text in (literals, in_json, literals.replace("\n", "\r\n")):
        blotted = redact(text.encode())[0].decode()
        assert len(blotted) == len(text)
        assert not any(line in blotted for line in body)
        assert blotted.count("\\n") == text.count("\\n")
        assert blotted.endswith(text[-12:])


def test_a_private_key_without_its_end_is_blotted_and_what_follows_stays() -> None:
    block, body = private_key(drawing(5))
    text = block.partition("-----END")[0] + "def code_that_follows(): ...\n"
    blotted = redact(text.encode())[0].decode()
    assert not any(line in blotted for line in body[:-1])
    assert blotted.endswith("def code_that_follows(): ...\n")


ORDINARY = [
    'password = "correct"',
    'password = "PASSWORD_RESET_TOKEN"',
    'PASSWORD_FIELD = "user_password_confirmation"',
    'token_type = "urn:ietf:params:oauth:token-type:jwt2"',
    'secret_name = "projects/p1/secrets/s3/versions/latest4"',
    'api_key = os.environ["API_KEY_2"]',
    'api_key = "${API_KEY_V2_PRODUCTION}"',
    'api_key: "<your-api-key-1234567>"',
    'api_key = "YOUR_API_KEY_HERE_1234"',
    'secret = "xxxxxxxxxxxxxxxxxxxx"',
    'password = "********************"',
    'token = "{{ vault.token1.v2.value3 }}"',
    'password: "#{node1.password2.value3}"',
    "const token = generateTokenForUser42(user);",
    "token = self.tokenizer.next_token2()",
    "access_key = settings.AWS1.ACCESS2.KEY3",
    "private_key: x25519.X25519PrivateKey\n",
    "if (token == NGHTTP3_QPACK_TOKEN__STATUS1) {",
    'const apiKeySource = "apiKeySource"',
    'var passphrasePrompt = "Enter the passphrase for key 2:"',
    'Assembly("x, PublicKeyToken=b03f5f7f11d50a3a")',
    "tokens: max_tokens_per_request_v2,",
    'author = "a1B2c3D4e5F6g7H8"',
    'key = "a1B2c3D4e5F6g7H8"',
    'bypass = "a1B2c3D4e5F6g7H8"',
    'checksum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"',
    "http://localhost:8080/@scope/package",
    "https://user:password@example.com/",
    "ssh://git@github.com:22/a/b.git",
    "redis://:${PASSWORD}@host",
    "f'postgres://{user}:{password}@{host}/{name}'",
    "Bearer authentication_required_for_this",
    "Basic understanding of the architecture",
    '"Authorization": "Bearer " + token',
    "A" + "KIA is the prefix of such keys",
    "class gh" + "p_extension_point_for_everything: pass",
    "sk-" + "fading-circle-with-a-very-long-name",
    "npm_" + "config_registry_with_a_long_name_here_ok",
    "task-" + "0123456789abcdef0123456789abcdef",
    "cache-key-" + "0123456789abcdef0123456789abcdef",
    "module.submodule.a_very_long_function_name_here",
    '"-----BEGIN PRIVATE KEY-----"\nend = "-----END PRIVATE KEY-----"\n',
    "-----BEGIN PUBLIC KEY-----\n" + "MFkwEwYHKoZIzj0CAQ" * 4 + "\n-----END PUBLIC KEY-----",
    "x = '" + "-" * 80 + "'",
    "",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_code_stays_as_it_is(text: str) -> None:
    data = text.encode()
    blotted, count = redact(data)
    assert blotted is data
    assert count == 0


def test_overlapping_finds_are_one_secret() -> None:
    token = TOKENS["github"](drawing(1))
    text, count = redact(f'github_token = "{token}"'.encode())
    assert text == b'github_token = "' + b"*" * len(token) + b'"'
    assert count == 1


def test_a_value_whose_stars_look_like_one_is_one_secret() -> None:
    text, count = redact(b'AWS_SECRET_ACCESS_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzXk3mQpL8a"')
    assert text == b'AWS_SECRET_ACCESS_KEY = "' + b"*" * 40 + b'"'
    assert count == 1
    assert redact(text) == (text, 0)


def test_several_secrets_are_all_found_and_lines_stay() -> None:
    draw = drawing(2)
    tokens = [canary(draw) for canary in TOKENS.values()]
    text = "".join(f"line {number}: '{token}'\r\n" for number, token in enumerate(tokens)).encode()
    blotted, count = redact(text)
    assert count == len(tokens)
    assert [len(line) for line in blotted.split(b"\r\n")] == [
        len(line) for line in text.split(b"\r\n")
    ]
    assert redact(blotted) == (blotted, 0)


REPEATED = [
    *(canary(drawing(9))[:size] for canary in TOKENS.values() for size in (4, 12, 1000)),
    *((text % canary(drawing(9)))[:size] for text, canary in PLACES.values() for size in (9, 99)),
    "-----BEGIN PRIVATE" + " KEY-----",
    "password=",
    'password="',
    "=",
    ":",
    '="',
    "-",
    "_a",
    ".aaaaaa",
    "://a:b",
    "\\",
    '"',
    "0",
]  # fmt: skip


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


@pytest.mark.parametrize("separator", ["", " "])
def test_time_is_linear_for_hostile_texts(separator: str) -> None:
    slow = {}
    for piece in dict.fromkeys(REPEATED):
        text = ((piece + separator).encode() * (1 << 18))[: 1 << 18]
        # 256 kB; what is quadratic would take minutes.
        seconds = _seconds(lambda text=text: redact(text))  # type: ignore[misc]
        if seconds > 0.5:
            slow[piece] = seconds
    assert slow == {}
