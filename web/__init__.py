"""The interfaces to the engine: command line, web pages, JSON API and MCP server."""
