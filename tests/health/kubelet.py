"""A stand-in for a node's kubelet: its folder with the sockets, files and folders that a kubelet holds.

It listens on its sockets and on one of a device plugin, counts who connects, and tells the folder's state.
"""
import os
import pathlib
import socket
import threading

FOLDERS = ("plugins_registry", "plugins", "device-plugins", "pod-resources")
SOCKETS = ("device-plugins/kubelet.sock", "pod-resources/kubelet.sock", "device-plugins/vendor.sock")
FILES = {"dra_health_state": '{"Data":null}', "dra_manager_state": '{"Data":"","Checksum":0}',
         "device-plugins/kubelet_internal_checkpoint": '{"Data":{},"Checksum":0}'}


class Kubelet:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.connections = []  # the sockets that somebody connected to
        self.listeners = []
        for name in FOLDERS:
            (self.folder / name).mkdir(parents=True)
        for name, text in FILES.items():
            (self.folder / name).write_text(text)
        for name in SOCKETS:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(str(self.folder / name))
            listener.listen(8)
            self.listeners.append(listener)
            threading.Thread(target=self.accept, args=(name, listener), daemon=True).start()

    def accept(self, name, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self.connections.append(name)
            connection.close()

    def close(self):
        for listener in self.listeners:
            listener.close()

    def state(self):
        """Every folder, socket and file, with what a writer could change."""
        found = {}
        for path in [self.folder, *self.folder.rglob("*")]:
            about = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            found[str(path.relative_to(self.folder))] = (about.st_ino, about.st_mode, about.st_uid,
                                                         about.st_mtime_ns, about.st_ctime_ns, content)
        return found
