(haskell
  declarations: (declarations
    [
      (signature name: [(variable) @name (prefix_id (_) @name)])
      (signature names: (binding_list name: (_) @name))
      (function name: [(variable) @name (prefix_id (_) @name)])
      (function (infix operator: (operator) @name))
      (bind name: [(variable) @name (prefix_id (_) @name)])
      (foreign_import signature: (signature name: (_) @name))
    ] @definition.function))
