"""Security checks in front of every handler, including pages and mounted applications.

* ``server_settings`` says where a server listens and what it serves; it also reads the token.
* ``access`` checks host, origin and token, and limits the request rate.
* ``middleware`` applies all checks to an application, and reads bodies within limits.
* ``protocol`` limits slow connections, and sets the headers of every answer.
"""
