import sys
import pathlib

# What several tests share is in lib/; a test may also take from a test of another folder.
sys.path[:0] = [str(p) for p in sorted(pathlib.Path(__file__).parent.iterdir()) if p.is_dir()]
