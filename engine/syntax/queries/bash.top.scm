(program (variable_assignment name: (variable_name) @name) @definition.variable)

(program
  (declaration_command
    (variable_assignment name: (variable_name) @name)) @definition.variable)
