(compilation_unit (val_definition pattern: (identifier) @name) @definition.constant)

(compilation_unit (var_definition pattern: (identifier) @name) @definition.variable)
