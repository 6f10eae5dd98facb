; resource "type" "name" {…}
(config_file
  (body
    (block
      .
      (identifier) @keyword
      .
      [(identifier) @receiver (string_lit (template_literal) @receiver)]
      .
      [(identifier) @name (string_lit (template_literal) @name)]
      .
      (block_start) @body) @definition.block))

; variable "name" {…}
(config_file
  (body
    (block
      .
      (identifier) @keyword
      .
      [(identifier) @name (string_lit (template_literal) @name)]
      .
      (block_start) @body) @definition.block))

(config_file
  (body
    (block
      .
      (identifier) @keyword
      .
      (block_start)
      (body (attribute . (identifier) @name) @definition.local))))

(config_file (body (attribute . (identifier) @name) @definition.variable))
