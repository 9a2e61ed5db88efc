"""The commands of a course: `python -m courses assignments --seed 2026`."""

import argparse

from courses import assignments

# Each command is a module with `arguments(parser)` and `main(asked)`.
COMMANDS = {"assignments": assignments}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m courses", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, module in COMMANDS.items():
        module.arguments(commands.add_parser(name, description=module.__doc__))
    asked = parser.parse_args()
    COMMANDS[asked.command].main(asked)


if __name__ == "__main__":
    main()
