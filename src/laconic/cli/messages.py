"""Messages of one line, in the words of the command line: --time-limit, not time_limit."""

import re
import shlex
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import typer
from typer.core import TyperGroup

# Exit codes, beside 0. After Ctrl-C it is that of shells: 128 and the number of the signal.
NOT_PROVED, BAD_INPUT, INTERRUPTED = 1, 2, 130
# The commands in the order of the help: from data to a result, then what to do with it.
ORDER = ("demo", "fit", "choose", "path", "stability", "certify", "verify", "transform", "show", "report")
# An error names all choices if there are at most this many.
FEW = 4
# The words of this command line, without the name of the program.
COMMAND: ContextVar[tuple[str, ...]] = ContextVar("COMMAND", default=())
# The library's names of settings, and the options that set them.
OPTIONS = {
    "cardinality": "-k",
    "max_cardinality": "-K",
    "n_components": "-c",
    "fit_covariance": "--covariance",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            "min_variance", "time_limit", "forced_in", "permutations", "resamples", "threshold",
            "numeric_only", "penalty", "deflation", "disjoint", "joint",
            "scale", "missing", "support", "drop", "columns", "na", "index", "separator", "decimal", "transpose",
            "encoding", "sheet", "method", "proof", "criterion", "sampling", "nonnegative",
        )
    },
}  # fmt: skip


def in_options(text: str) -> str:
    """Return a text of the library with its settings as options: `time_limit=5` becomes `--time-limit 5`."""
    names = "|".join(OPTIONS)
    text = re.sub(rf"The '({names})' parameter of \w+", lambda m: OPTIONS[m[1]], text)
    text = re.sub(rf"\b({names})=True\b", lambda m: OPTIONS[m[1]], text)
    text = re.sub(rf"\b({names})=None\b", lambda m: f"{OPTIONS[m[1]]} none", text)
    text = re.sub(rf"\b(?:use|give) ({names})=False\b", lambda m: f"leave out {OPTIONS[m[1]]}", text)
    text = re.sub(rf"\b({names})=\[([\d, ]+)\]", lambda m: f"{OPTIONS[m[1]]} {m[2].replace(' ', '')}", text)
    text = re.sub(rf"\b({names})=\['([^\]]*)'\]", _joined, text)
    text = re.sub(rf"\b({names})='([^']*)'", lambda m: f"{OPTIONS[m[1]]} {shlex.quote(m[2])}", text)
    text = re.sub(rf"\b({names})=(?=[\s,;.)]|$)", lambda m: OPTIONS[m[1]], text)
    text = re.sub(rf"\b({names})=", lambda m: f"{OPTIONS[m[1]]} ", text)
    text = re.sub(rf"(^|(?<=: ))({names}) (?=(names|holds) )", lambda m: f"{OPTIONS[m[2]]} ", text)
    text = re.sub(r" \(n_samples=\d+\)|: [^:]* has \d+ feature\(s\)", "", text)
    text = re.sub(r"\ban int\b", "a whole number", text)
    # Settings of one word, such as penalty, are ordinary words elsewhere in a sentence.
    return re.sub(rf"(?<!-)\b({names})\b", lambda m: OPTIONS[m[1]] if "_" in m[1] else m[1], text)


def _joined(match: re.Match[str]) -> str:
    """Return an option with a list of texts as its value."""
    return f"{OPTIONS[match[1]]} {shlex.quote(match[2].replace(chr(39) + ', ' + chr(39), ','))}"


def one_line(message: object) -> str:
    """Return a message without line breaks, in the words of the command line."""
    if isinstance(message, OSError) and message.filename is not None:
        return f"{message.filename}: {message.strerror}."
    text = " ".join(str(message).split())
    # The library counts rows from 0, and people do not.
    text = re.sub(r"\bat row (\d+), column", lambda m: f"in row {int(m[1]) + 1} below the header, column", text)
    text = re.sub(r"\bof rows (\d+) to (\d+)", lambda m: f"of rows {int(m[1]) + 1} to {int(m[2]) + 1}", text)
    return in_options(text)


@contextmanager
def one_line_messages() -> Iterator[None]:
    """Print warnings, errors about the input and interruptions as one line each on standard error."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        from laconic.core.monitor import Hint, Note

        kind = "" if isinstance(message, Note) else "hint: " if isinstance(message, Hint) else "warning: "
        typer.echo(f"laconic: {kind}{one_line(message)}", err=True)

    with warnings.catch_warnings():
        # Other warnings are for programmers.
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # one for each letter that a font does not have
        warnings.showwarning = show
        try:
            yield
        except BrokenPipeError:  # the program that reads our output, such as head, has ended
            raise
        except (ValueError, TypeError, OSError, MemoryError) as error:
            typer.echo(f"laconic: {one_line(error)}", err=True)
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt as error:
            typer.echo(f"laconic: {one_line(error) or 'Interrupted.'}", err=True)
            raise typer.Exit(INTERRUPTED) from None


class Commands(TyperGroup):
    """All commands. An option that is not known, or a value of the wrong kind, is one line, too."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands in the order of the help."""
        order = {name: place for place, name in enumerate(ORDER)}
        return sorted(super().list_commands(ctx), key=lambda name: order.get(name, len(order)))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command whose help names its arguments without types of Python, such as list[Path]."""
        command = super().get_command(ctx, cmd_name)
        for parameter in command.params if command is not None else ():
            if parameter.param_type_name == "argument":
                # Versions of typer that print the type call this.
                vars(parameter)["display_type_rich"] = lambda **_: None
        return command

    def make_context(self, info_name: str | None, args: list[str], *given: Any, **extra: Any) -> Any:
        """Read the options above the command, and keep the words of the command line."""
        COMMAND.set(tuple(args))
        with _one_line_usage():
            return super().make_context(info_name, args, *given, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Read the options of the command, and run it."""
        with _one_line_usage():
            return super().invoke(ctx)


@contextmanager
def _one_line_usage() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # typer has the class of click, or its own copy, depending on its version.
        kinds = [kind.__name__ for kind in type(error).__mro__]
        if "UsageError" not in kinds or "NoArgsIsHelpError" in kinds:
            raise
        typer.echo(f"laconic: {_usage(error, kinds)}", err=True)
        raise typer.Exit(BAD_INPUT) from None


def _usage(error: Any, kinds: Sequence[str]) -> str:
    """Return what is wrong with the words of a command."""
    context = error.ctx
    command = "laconic" if context is None else context.command_path
    message = " ".join(error.format_message().split())
    if "NoSuchOption" in kinds and context is not None:
        known = [name for parameter in context.command.params for name in parameter.opts if name.startswith("--")]
        message = f"There is no option {error.option_name}{close_to(error.option_name, known)}"
    elif (command_name := re.match(r"No such command '(.*?)'", message)) and context is not None:
        known = context.command.list_commands(context)
        message = f"There is no command {command_name[1]}{close_to(command_name[1], known)}"
    elif "BadOptionUsage" in kinds:
        message = f"{error.option_name} needs a value."
    elif "MissingParameter" in kinds and error.param is not None:
        message = f"{command} needs {_named(error.param)}."
    elif "BadParameter" in kinds and error.param is not None:
        kind = {"INT": "a whole number", "SECONDS": "a number"}.get(error.param.metavar or "", "a number")
        message = f"{_named(error.param)} must be {kind}."
    return f"{message.rstrip('.?')}{'?' if message.endswith('?') else '.'} See {command} --help."


def _named(parameter: Any) -> str:
    """Return how a user calls an argument or option."""
    options = [name for name in parameter.opts if name.startswith("-")]
    return options[0] if options else str(parameter.metavar or parameter.name)


def close_to(given: str, known: Sequence[str]) -> str:
    """Return the end of a message about an unknown word: "; did you mean tight?", or a full stop."""
    # It imports NumPy, which would make `laconic --help` slower.
    from laconic.core.words import did_you_mean

    return did_you_mean(given, known).replace("'", "")


def one_of(known: Sequence[str], given: str, option: str) -> str:
    """Return the name given for an option, or raise a ValueError with the nearest of the known names, or all."""
    if given not in known:
        close = close_to(given, known) if len(known) > FEW else "."
        choices = f"; the only choice is {known[0]}." if len(known) == 1 else f"; choose one of {', '.join(known)}."
        raise ValueError(f"{option} {given} is not known{choices if close == '.' else close}")
    return given
