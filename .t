server: "http://127.0.0.1:34047"
