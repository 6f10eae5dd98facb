; The names that a text refers to, by role; see references.py.

[
  (comment)
  (string_content)
  (raw_string)
  (ansi_c_string)
  (heredoc_content)
] @text

(command_name (word) @call)
