"""What stands in front of every handler, pages and mounted applications included.

* ``serving`` is where a server listens and who may ask; ``hosts`` are the names it answers to.
* ``session`` is the token, as a header or as a cookie; ``rates`` bounds what a client may ask.
* ``bodies`` reads what a client sends, within limits of size, time, form and depth.
* ``headers`` go on every answer; ``shield`` puts all of it in front of an application.
* ``protocol`` bounds what happens before there is a request: its head.
"""
