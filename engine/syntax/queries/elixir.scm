(call
  target: (identifier) @keyword
  (arguments
    .
    (alias) @name
    (keywords (pair value: (alias) @receiver)))
  (do_block) @body) @definition.keyword

(call
  target: (identifier) @keyword
  (arguments . (alias) @name)
  (do_block) @body) @definition.keyword

; def name(…) do, def name(…), do: …
(call
  target: (identifier) @keyword
  (arguments
    .
    [
      (call target: (identifier) @name)
      (binary_operator left: (call target: (identifier) @name))
      (identifier) @name
    ]
    (keywords)? @body)
  (do_block)? @body) @definition.keyword

(call
  target: (identifier) @keyword @name
  (arguments . [(list) (keywords)] @body)) @definition.struct_keyword

; @type name :: …, @callback name(…) :: …, @callback name(…) :: … when …
(unary_operator
  operator: "@"
  operand: (call
    target: (identifier) @keyword
    (arguments
      .
      (binary_operator
        left: [
          (identifier) @name
          (call target: (identifier) @name)
          (binary_operator left: (identifier) @name)
          (binary_operator left: (call target: (identifier) @name))
        ])))) @definition.attribute_keyword

(unary_operator operator: "@") @attribute.elixir
