# libtessera: the objects of models/arith and sim/base as a static and a shared
# library, the public header in one file, a pkg-config file. Component `library`.
include(GNUInstallDirs)
set_target_properties(tsr_arith tsr_base PROPERTIES POSITION_INDEPENDENT_CODE ON)
foreach(kind STATIC SHARED)
  string(TOLOWER ${kind} suffix)
  add_library(libtessera_${suffix} ${kind} $<TARGET_OBJECTS:tsr_arith> $<TARGET_OBJECTS:tsr_base>)
  set_target_properties(libtessera_${suffix} PROPERTIES OUTPUT_NAME tessera LINKER_LANGUAGE C)
  target_link_libraries(libtessera_${suffix} PRIVATE tsr_flags Threads::Threads m)
endforeach()
set_target_properties(libtessera_shared PROPERTIES VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# Every `#include "…"` of the tree once, in place; what is included stays as it is.
set(text "#include \"models/arith/tessera_arith.h\"\n")
set(seen "")
while(text MATCHES "#include \"([a-z0-9_/.]+)\"\n")
  set(name ${CMAKE_MATCH_1})
  set(body "")
  if(NOT name IN_LIST seen)
    list(APPEND seen ${name})
    file(READ ${CMAKE_SOURCE_DIR}/${name} body)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name})
  endif()
  string(FIND "${text}" "#include \"${name}\"\n" at)
  string(LENGTH "#include \"${name}\"\n" len)
  string(SUBSTRING "${text}" 0 ${at} before)
  math(EXPR at "${at} + ${len}")
  string(SUBSTRING "${text}" ${at} -1 after)
  set(text "${before}${body}${after}")
endwhile()
set(header ${CMAKE_CURRENT_BINARY_DIR}/include/tessera/arith.h)
file(CONFIGURE OUTPUT ${header} @ONLY CONTENT "${text}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/tessera.pc.in tessera.pc @ONLY)

install(TARGETS libtessera_static libtessera_shared COMPONENT library
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera COMPONENT library)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tessera.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
