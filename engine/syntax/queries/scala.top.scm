(compilation_unit (_ "val" pattern: (identifier) @name) @definition.constant)

(compilation_unit (_ "var" pattern: (identifier) @name) @definition.variable)
