"""Clones a repository with a Python library.

argv: "dulwich" or "libgit2", the address, the directory, the depth (0: everything), and "progress" or "quiet". Prints the
ID of the commit that HEAD points to.
"""

import io
import sys


def with_dulwich(url, directory, depth, progress):
    from dulwich import porcelain

    errors = sys.stderr.buffer if progress else io.BytesIO()
    with porcelain.clone(url, directory, depth=depth or None, errstream=errors) as repository:
        return repository.head().decode()


def with_libgit2(url, directory, depth, progress):
    import pygit2

    class Callbacks(pygit2.RemoteCallbacks):
        def sideband_progress(self, text):
            if progress:
                sys.stderr.write(text)

    repository = pygit2.clone_repository(url, directory, callbacks=Callbacks(), depth=depth)
    return str(repository.head.target)


library, url, directory, depth, progress = sys.argv[1:]
clone = {"dulwich": with_dulwich, "libgit2": with_libgit2}[library]
print(clone(url, directory, int(depth), progress == "progress"))
