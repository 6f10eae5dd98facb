"""Files that are kept out of the index because their names say that they hold secrets."""

import re

#: Suffixes of more than one part.
_ENDINGS = (".tfstate.backup", ".tfvars.json", ".pem.bak", ".key.bak", ".keychain-db")

#: Folders in which every file is secret, at any depth, and single files known by their folder.
_FOLDERS = ("/.aws/", "/.ssh/", "/.gnupg/", "/.password-store/")
_PLACES = (
    "/.docker/config.json",
    "/.kube/config",
    "/.config/gh/hosts.yml",
    "/.m2/settings.xml",
    "/.cargo/credentials.toml",
)

_KEY_NAMES = ("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519")
_WORD = re.compile(r"[^\W\d_]+")
_SERVICE_ACCOUNTS = (
    "googleusercontent",
    "service-account",
    "service_account",
    "serviceaccount",
    "firebase-adminsdk",
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Whole names, in lower case.
_NAMES = _words(
    """
    .authinfo .boto .credentials .databrickscfg .dockercfg .dockerconfigjson .env .envrc
    .fetchmailrc .git-credentials .htdigest .htpasswd .msmtprc .my.cnf .mylogin.cnf .netrc .npmrc
    .passwd .pgpass .pypirc .rhosts .s3cfg .terraformrc .token .vault-password .vault-token
    .vault_pass .vault_password _netrc accesstokens.json application_default_credentials.json
    azureprofile.json client_secret.json consolehost_history.txt credentials credentials.json
    fish_history gshadow htpasswd id_dsa id_ecdsa id_ed25519 id_rsa kubeconfig
    msal_token_cache.json pgpass.conf secring.gpg settings-security.xml shadow terraform.rc
    wallet.dat
    """
)

#: Extensions, in lower case. Certificates (.crt, .cer) and public keys (.pub)
#: are public by design. Terraform itself advises against committing .tfvars files.
_EXTENSIONS = _words(
    """
    agekey env jceks jks kbx kdb kdbx key keychain keystore keytab keyx ovpn p12 p8 pem pfx pk8
    pkcs12 pkcs8 ppk psafe3 tfstate tfvars wallet
    """
)


#: Parts of a name that indicate sample values.
_EXAMPLES = _words(
    """
    default defaults dist example examples sample samples schema skeleton stub template templates
    tmpl tpl
    """
)

#: Extensions that say nothing about the form of the content: of values without names, of copies,
#: of encrypted files. With them, and without any, each name with a broad word is secret.
_BARE_EXTENSIONS = _words(
    """
    age backup bak bin credentials csv dat db enc gpg old orig pgp save secret secrets text tsv txt
    """
)

#: Configuration is secret if its name says that it holds secrets: ``secrets.prod.yml``,
#: ``db-secret.yaml``. About ``secret_missing.yml``, and all other text, the content decides: there
#: a secret has a name, by which it is found and blanked.
_CONFIGURATION_EXTENSIONS = _words(
    "cfg cnf conf config edn hocon ini json json5 jsonc properties toml xml yaml yml"
)
_HOLDINGS = ("secrets", "credentials")

#: Copies that editors and people keep beside a file.
_COPY_ENDS = ("~", "#", ".bak", ".backup", ".old", ".orig", ".save", ".swp")
_COPY = re.compile(rf"(#?)(.+?)({'|'.join(map(re.escape, _COPY_ENDS))})")

#: What stands behind ``app.env.`` if that holds what ``.env`` does.
_STAGES = (
    ".env.local", ".env.dev", ".env.development", ".env.prod", ".env.production", ".env.stage",
    ".env.staging", ".env.test",
)  # fmt: skip

#: Hidden files in which shells and clients keep what was typed.
_HISTORIES = ("history", ".histfile", ".lesshst", ".viminfo")


def is_secret_file(path: str) -> str | None:
    """Return the rule by which a file counts as secret, or None.

    The rule is a glob (``*.pem``) that can be shown to the user. Upper and lower case are the
    same. A copy of a file (``.env~``) is as secret as the file. The broad patterns ``*secret*`` and
    ``*credentials*`` do not apply to code, documents and text of unknown type. About 1 µs for an
    ordinary path: the walk calls this for each file.
    """
    lower = path.lower()
    rule = _rule_of(lower)
    if rule is None and lower.endswith(_COPY_ENDS):
        at = lower.rfind("/") + 1
        copy = _COPY.fullmatch(lower, at)
        if copy is not None:
            rule = _rule_of(lower[:at] + copy[2])
            return rule and f"{copy[1]}{rule}{copy[3]}"
    return rule


def _rule_of(lower: str) -> str | None:
    name = lower[lower.rfind("/") + 1 :]
    if name in _NAMES:
        return name
    dot = name.rfind(".")
    extension = name[dot + 1 :]
    if dot >= 0 and extension in _EXTENSIONS and not _is_example(name):
        return f"*.{extension}"
    if "/." in lower or lower[:1] == ".":
        rule = _rule_of_hidden(lower, name)
        if rule is not None:
            return rule
    if name.endswith(_STAGES):
        return "*.env.*"
    if name[:3] == "id_" and extension != "pub" and name.startswith(_KEY_NAMES):
        return "id_*" if dot < 0 or extension in _BARE_EXTENSIONS else None
    if "secret" in name or "credentials" in name:
        rule = _rule_of_broad(name, extension if dot > 0 else "")
        if rule is not None:
            return rule
    if name.endswith((".bak", ".backup", ".json", "-db")):
        return _rule_of_ending(name)
    return "UTC--*" if name[:5] == "utc--" else None


def _is_example(name: str) -> bool:
    parts = name.replace("-", ".").replace("_", ".").split(".")
    return not _EXAMPLES.isdisjoint(parts)


def _rule_of_hidden(lower: str, name: str) -> str | None:
    """Return the rule for a path with a hidden folder or for an ``.env`` file."""
    rooted = "/" + lower
    for folder in _FOLDERS:
        if folder in rooted:
            return f"{folder[1:]}**"
    if rooted.endswith(_PLACES):
        return next(place[1:] for place in _PLACES if rooted.endswith(place))
    if name[:4] == ".env" and name[4:5] in ("", ".", "-", "_") and not _is_example(name):
        return ".env.*"
    if name[:1] == "." and name.endswith(_HISTORIES):
        return name
    return None


def _rule_of_broad(name: str, extension: str) -> str | None:
    if extension in _CONFIGURATION_EXTENSIONS:
        words = _WORD.findall(name.removesuffix(extension))
        is_broad = words[0] in _HOLDINGS or words[-1].endswith(("secret", *_HOLDINGS))
    else:
        is_broad = not extension or extension in _BARE_EXTENSIONS
    if not is_broad or _is_example(name):
        return None
    return "*secret*" if "secret" in name else "*credentials*"


def _rule_of_ending(name: str) -> str | None:
    if name.endswith(_ENDINGS) and not _is_example(name):
        return next(f"*{ending}" for ending in _ENDINGS if name.endswith(ending))
    if name.endswith(".json") and any(mark in name for mark in _SERVICE_ACCOUNTS):
        return "service-account*.json"
    return None
