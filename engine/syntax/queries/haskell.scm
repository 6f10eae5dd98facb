(exports) @exported.list
(export variable: (_) @exported)
(export type: (_) @exported)
(export operator: (prefix_id (_) @exported))

(data_type) @definition.struct
(newtype) @definition.struct
(type_synonym) @definition.type
(type_family) @definition.type
(data_family) @definition.type
(pattern_synonym (_ synonym: (_ function: (_) @name))) @definition.function

(data_constructor (_ name: (_) @name)) @definition.constructor
(newtype_constructor) @definition.constructor
(gadt_constructor) @definition.constructor

(class
  name: (_) @name
  "where"? @body) @definition.class

(instance
  name: (_) @name
  patterns: (_)? @until
  "where"? @body) @definition.instance

(class_declarations
  [
    (_ name: (variable) @name)
    (_ name: (_ (_) @name) "::")
    (_ name: (_ (_) @name) patterns: (_))
    (_ names: (binding_list name: (_) @name))
  ] @definition.method)

(instance_declarations
  [
    (_ name: [(variable) @name (_ (_) @name)] match: (_))
    (function (_ operator: (_) @name))
  ] @definition.method)
