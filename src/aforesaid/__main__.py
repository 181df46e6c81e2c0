"""`python -m aforesaid`: the command line without the script."""

from aforesaid.cli import main

if __name__ == "__main__":
    main()
