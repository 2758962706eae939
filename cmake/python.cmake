# What the wheel has besides python/rotary (pyproject.toml, docs/reference/python.md): the shared library under a name without a
# version, because a wheel has no links, and the table of model types.
install(FILES $<TARGET_FILE:rotary_shared> DESTINATION rotary RENAME librotary.so COMPONENT python)
install(FILES ${PROJECT_SOURCE_DIR}/src/huggingface/model_types.json DESTINATION rotary COMPONENT python)
