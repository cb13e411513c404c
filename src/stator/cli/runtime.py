"""`stator runtime`: the environments that stand for images on this machine."""

from __future__ import annotations

import click
import msgspec

from stator.cli import options
from stator.errors import InvalidInputError, Problem
from stator.local.runtimes import RuntimeRequest, default_cache, ensure
from stator.local.runtimes.inventory import CachedRuntime, list_runtimes, remove_runtimes, select_runtimes
from stator.local.runtimes.profiles import SGLANG_RELEASES, ProfileName


@click.group()
def runtime() -> None:
    """List, make and remove the environments that stand for images.

    Each holds one published release of ai-dynamo, verified by hash, and is made on demand by `up`, `matrix` and
    `rehearse`.
    """


@runtime.command("list")
@options.text_or_json
def list_(*, output: str) -> None:
    """Show what is in the cache."""
    known = list_runtimes(default_cache())
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode({"schema_version": 1, "runtimes": known}), indent=2))
        return
    for each in known:
        users = f", in use by {len(each.users)} process{'es' if len(each.users) > 1 else ''}" if each.users else ""
        click.echo(f"{each.name}  {_size(each.size)}  {each.state}{users}")
    click.echo(f"{len(known)} environments, {_size(sum(each.size for each in known))} in {default_cache()}")


@runtime.command()
@click.argument("versions", nargs=-1, required=True, metavar="VERSION...")
@click.option(
    "--profile",
    type=click.Choice(["base", "sglang-cpu"]),
    default="base",
    show_default=True,
    help="base moves requests; sglang-cpu has the SGLang engine too (5 GB).",
)
@click.option("--offline", is_flag=True, help="Use only what was downloaded before.")
def add(*, versions: tuple[str, ...], profile: ProfileName, offline: bool) -> None:
    """Make the environments of releases, if they are missing."""
    releases = [str(options.parse_release("VERSION", version)) for version in versions]
    if profile == "sglang-cpu" and (unknown := [each for each in releases if each not in SGLANG_RELEASES]):
        raise InvalidInputError(
            *(
                Problem(
                    what=f"no SGLang environment for the CPU is known for runtime {each}",
                    why=f"it is known for {', '.join(SGLANG_RELEASES)}",
                )
                for each in unknown
            )
        )
    for release in releases:
        request = RuntimeRequest(image=f"ai-dynamo {release}", profile=profile, version=release)
        made = ensure(
            request, cache=default_cache(), progress=lambda line: click.echo(f"  {line}", err=True), offline=offline
        )
        click.echo(f"{profile} {release}: {made.python}")


@runtime.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def rm(*, names: tuple[str, ...]) -> None:
    """Remove environments: by full name, PROFILE-VERSION, or VERSION."""
    cache = default_cache()
    _remove(select_runtimes(list_runtimes(cache), names))


@runtime.command()
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
def prune(*, dry_run: bool) -> None:
    """Remove what no graph would be given: outdated environments, and ones that were not completed."""
    stale = tuple(each for each in list_runtimes(default_cache()) if each.state != "current" and not each.users)
    if dry_run:
        for each in stale:
            click.echo(f"would remove {each.name} ({each.state}, {_size(each.size)})")
    _remove(() if dry_run else stale)


def _remove(chosen: tuple[CachedRuntime, ...]) -> None:
    removed = remove_runtimes(chosen, default_cache(), progress=lambda line: click.echo(f"  {line}", err=True))
    for each in removed:
        click.echo(f"removed {each.name}, {_size(each.size)}")
    if not removed:
        click.echo("nothing removed")


def _size(size: int) -> str:
    return f"{size / 1e9:.2f} GB"
