(call
  target: (identifier) @keyword
  .
  (_
    .
    (alias) @name
    (_ (_ value: (alias) @receiver)))
  (do_block) @body) @definition.keyword

(call
  target: (identifier) @keyword
  .
  (_ . (alias) @name)
  (do_block) @body) @definition.keyword

; def name(…) do, def name(…), do: …
(call
  target: (identifier) @keyword
  (arguments
    .
    [
      (_ !key target: (identifier) @name)
      (_ left: (_ !key target: (identifier) @name))
      (identifier) @name
    ]
    (keywords)? @body)
  (do_block)? @body) @definition.keyword

(call
  target: (identifier) @keyword @name
  .
  (_ . [(list) (keywords)] @body)) @definition.struct_keyword

; @type name :: …, @callback name(…) :: …, @callback name(…) :: … when …
(unary_operator
  operator: "@"
  operand: (call
    target: (identifier) @keyword
    (arguments
      .
      (_
        left: [
          (identifier) @name
          (_ !key target: (identifier) @name)
          (_ left: (identifier) @name)
          (_ left: (_ !key target: (identifier) @name))
        ])))) @definition.attribute_keyword

(unary_operator operator: "@") @attribute.elixir
